"""Which of many queries on one stream slide now: the sliding graph, and its optimiser.

Source: Salehi, Riahi, Michel, Aberer, "Knowing when to slide", MDM 2009; where the paper is silent,
the rules are ours, and stand where they are applied. Slides are positive integers.
"""
