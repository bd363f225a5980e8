import os

import pytest

from infra.clean import clean
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import identify
from infra.record import Running, read


def test_all_data_goes(layout: Layout) -> None:
    read(layout).promise({"kafka": 9092})
    (layout.kafka / "data").mkdir(parents=True)
    (layout.kafka / "data" / "segment").touch()
    clean(layout=layout)
    assert [path.name for path in layout.state_dir.iterdir()] == ["stack.lock"]


def test_a_running_stack_is_not_cleaned(layout: Layout) -> None:
    us = identify(os.getpid())
    assert us is not None
    record = read(layout)
    record.started("kafka", Running(us, "", "kafka.log"))
    with pytest.raises(InfraError, match=r"still runs \(kafka\); run `slackwater down` first"):
        clean(layout=layout)
    record.ended(["kafka"])
