"""Only verdict cells keep outputs in the notebooks, and only of a run of these very cells."""

import json

import pytest

from kit.campaign.notebook import execute
from kit.campaign.stored_outputs import store
from tests.campaign.test_notebook import write


def tagged(path, index, tag):
    document = json.loads(path.read_text())
    document["cells"][index]["metadata"]["tags"] = [tag]
    path.write_text(json.dumps(document))


@pytest.fixture
def pair(tmp_path):
    source = write(tmp_path / "n.ipynb", "print('noise')", "print('verdict', count)")
    tagged(source, 2, "nbval-check-output")
    execute(source, tmp_path / "ran.ipynb", {"count": 7})
    return source, tmp_path / "ran.ipynb"


def test_the_verdict_cell_keeps_count_and_output_and_no_other_does(pair):
    assert store(*pair) == 1
    cells = json.loads(pair[0].read_text())["cells"]
    assert [bool(cell["outputs"]) for cell in cells] == [False, False, True]
    assert cells[2]["outputs"][0]["text"] == ["verdict 7\n"]
    assert cells[2]["execution_count"]


def test_storing_twice_changes_nothing(pair):
    store(*pair)
    once = pair[0].read_text()
    store(*pair)
    assert pair[0].read_text() == once


def test_a_run_of_other_cells_is_refused(pair):
    pair[0].write_text(pair[0].read_text().replace("noise", "other"))
    with pytest.raises(ValueError, match="not a run of the present"):
        store(*pair)
