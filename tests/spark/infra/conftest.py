from tests.unit.infra.conftest import layout

__all__ = ["layout"]
