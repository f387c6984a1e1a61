"""Laws of the one order of finds: by score, then by id."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.model import best_first, best_first_asking

finds = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.5, 1.0]) | st.floats(-1, 1), st.text(max_size=2)
    ),
    max_size=12,
    unique_by=lambda find: find[1],
)


@given(finds)
def test_asking_for_ids_of_equal_scores_alone_is_the_same_order(found):
    scores, ids = [score for score, _ in found], [id for _, id in found]
    asked = []

    def ids_of(places):
        asked.extend(places.tolist())
        return [ids[place] for place in places]

    order = best_first_asking(np.array(scores, np.float64), ids_of)
    assert order.tolist() == best_first(scores, ids)
    assert sorted(asked) == [at for at, s in enumerate(scores) if scores.count(s) > 1]
