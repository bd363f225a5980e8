"""What a source computes: how it is written, what is refused, and what makes another pipeline."""

import pytest

from windowing.model import parse_pipeline
from windowing.model.added_lanes import AddedLane
from windowing.model.errors import PipelineError
from windowing.model.file.versions import with_lanes

TEXT = """
name: pay
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: string, amount: int, q: "int?"}
  disorder: {slack: 20 us}
  derive: {day: "substr(id, 1, 2)", net: "amount * 2"}
  rules: [{name: positive, check: "net > 0"}, {name: small, check: "amount < 50", on_fail: warn}]
  where: "q <> 3"
queries:
  w:
    window: RANGE 40 us SLIDE 20 us WATTR event_time
    group_by: [day, $key]
    aggregates:
      {n: count, s: sum(net), r: max(amount / q), c: sum(amount) where q = 1, o: max($offset)}
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


def test_what_is_computed_is_a_field() -> None:
    source = parse_pipeline(TEXT).source
    types = {name: str(type_) for name, type_ in source.fields.items()}
    assert types == {
        **{"id": "string", "amount": "int", "q": "int?", "$key": "string?", "$offset": "int"},
        **{"day": "string", "net": "int", "(amount / q)": "float?"},
        "(amount where q = 1)": "int?",
    }
    assert [*source.declared] == ["id", "amount", "q"]
    assert [one.role for one in source.computations] == [
        *("derive", "derive", "rule", "warn", "where", "argument", "argument")
    ]
    assert source.carried == ("$key",)


def test_the_event_time_may_always_be_called_so() -> None:
    assert parse_pipeline(TEXT).windows[0].attribute == "ts"


def test_counts_of_a_source_that_filters_and_warns() -> None:
    names = [fate.name for fate in parse_pipeline(TEXT).source.fates]
    assert names == [
        *("applied", "outside", "filtered", "duplicates", "dropped", "dead", "warned:small")
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("amount * 2", "amuont * 2", r":10: source.derive.net: .*did you mean 'amount'"),
        ("net > 0", "net", r":11: source.rules.0.check: 'net' is int, and what a record has to"),
        ("name: positive", "name: po sitive", r"source.rules.0.name: 'po sitive' is not a name"),
        ("name: small", "name: positive", r"source.rules.1.name: two rules have the name"),
        ("on_fail: warn", "on_fail: war", r"rules.1.on_fail: 'war' is not allowed: on_fail is"),
        ('check: "net > 0"', 'chek: "net > 0"', r"rules.0.chek: unknown key 'chek': did you mean"),
        ('"q <> 3"', '"q <>> 3"', r":12: source.where: "),
        ('"q <> 3"', '"q + 3"', r":12: source.where: 'q \+ 3' is int"),
        ("{day:", "{amount:", r"source.derive.amount: 'amount' is .*already"),
        ("{day:", "{a.b:", r"source.derive.a.b: 'a.b': a derived field has a plain name"),
        ("substr(id, 1, 2)", "substr(net, 1, 2)", r"derive.day: .*net is derived further down"),
        ("[day, $key]", "[day, $kex]", r"group_by.1: E_ATTR_UNKNOWN: '\$kex'"),
        ("max($offset)", "max($ofset)", r"aggregates.o: .*\$ofset.*did you mean '\$offset'"),
        ("max(amount / q)", "max(amoun / q)", r"aggregates.r: .*did you mean 'amount'"),
        ("where q = 1", "where q = 'a'", r"aggregates.c: int\? and string cannot be compared"),
        ("{field: ts, unit: us}", '{expr: "id"}', r"event_time.expr: 'id' is string, and a time"),
        ("{field: ts, unit: us}", '{expr: "q", field: ts}', r"event_time: the event time is a"),
        ("{field: ts, unit: us}", '{expr: "net"}', r"event_time.expr: .*net"),
        ("{slack: 20 us}", "{ordered_per: day}", r"E_DISORDER: attr 'day' is not in values"),
        ("topic: s\n  partitions: 2", "topics: {a: 1, b: 0}", r":4: source.topics.b: 0 is not"),
        ("topic: s\n", "topics: {a: 1}\n", r"partitions does not go with topics"),
    ],
)
def test_mistakes_are_found_where_they_stand(old: str, new: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        parse_pipeline(changed(old, new))


def test_the_order_of_keys_and_of_names_is_part_of_the_meaning() -> None:
    rules_first = changed('  derive: {day: "substr(id, 1, 2)", net: "amount * 2"}\n', "").replace(
        '  where: "q',
        '  derive: {day: "substr(id, 1, 2)", net: "amount * 2"}\n  where: "q',
    )
    with pytest.raises(PipelineError, match="net is derived further down"):
        parse_pipeline(rules_first)
    texts = (
        TEXT,
        rules_first.replace("net > 0", "amount > 0"),
        changed("net > 0", "amount > 0"),
        changed("amount * 2", "amount * 3"),
        changed("{field: ts, unit: us}", '{expr: "$timestamp"}'),
        changed("max(amount / q)", "max(amount div q)"),
        changed("topic: s\n  partitions: 2", "topics: {s: 1, r: 1}"),
        changed("topic: s\n  partitions: 2", "topics: {r: 1, s: 1}"),
    )
    assert len({parse_pipeline(text).fingerprint for text in texts}) == len(texts)


def test_a_query_that_begins_later_has_no_expression_of_its_own() -> None:
    later = TEXT + TEXT.partition("queries:\n")[2].replace("  w:", "  later:\n    from: 40")
    parse_pipeline(later)
    with pytest.raises(PipelineError, match="a query that begins later has no expression"):
        parse_pipeline(
            later[::-1]
            .replace("q / tnuoma", "h / tnuoma", 1)[::-1]
            .replace("amount / h", "amount / 2")
        )


def test_lanes_of_several_topics_are_numbered_in_the_order_of_the_file() -> None:
    pipeline = parse_pipeline(changed("topic: s\n  partitions: 2", "topics: {zoo: 2, ant: 1}"))
    source = pipeline.source
    assert [source.lane(number) for number in range(3)] == ["zoo/0", "zoo/1", "ant/0"]
    assert [source.number("ant", 0), source.number("zoo", 2), source.number("s", 0)] == [
        2,
        None,
        None,
    ]
    assert (source.place(2)[0].topic, source.place(2)[1]) == ("ant", 0)
    grown = with_lanes(pipeline, [AddedLane("zoo", 2, 3, (("ts", 5),))]).source
    assert [grown.lane(number) for number in range(4)] == ["zoo/0", "zoo/1", "ant/0", "zoo/2"]
    assert grown.topics == {"zoo": 3, "ant": 1}
    assert grown.as_of(3).topics == {"zoo": 2, "ant": 1}
