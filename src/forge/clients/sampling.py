"""The sampling fields of a client: those given to it, over the recommended ones where they are wanted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from forge.clients.sampling_defaults import recommended_sampling
from forge.errors import UnsupportedModelError

logger = logging.getLogger(__name__)
_hinted: set[str] = set()


def chosen_sampling(model: str, given: Mapping[str, Any], *, recommended: bool) -> dict[str, Any]:
    """The values of ``given`` that are not None, over the recommended ones if ``recommended``.

    Raises:
        UnsupportedModelError: ``recommended``, and nothing is known for ``model``.
    """
    values = {name: value for name, value in given.items() if value is not None}
    known = recommended_sampling(model)
    if not recommended:
        if known is not None and model not in _hinted:
            _hinted.add(model)
            logger.info("sampling is recommended for %s; recommended_sampling=True would use it", model)
        return values
    if known is None:
        raise UnsupportedModelError(model)
    return {**known, **values}
