"""Exports: what is in one, that they go on after a kill, and that nothing but a whole one is loaded."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit import checkpoint
from kit.checkpoint import CheckpointError, CheckpointFiles, contents, export, exported, shards
from kit.checkpoint.export import HEAD, HEAD_SHARD, LANGUAGE, VISION, VISION_SHARD
from kit.checkpoint.exported import MARKER, PROGRESS, open_export
from kit.profile import PROJECT_ROOT, Profile, ProfileError, profile_from_dict

INDEX = f"base/{contents.INDEX}"


def run(files: CheckpointFiles, folder: Path) -> exported.Marker:
    return export.export(files, folder, contents.checkpoint_hashes(files))


def profile_of(profile: Profile, folder: Path, **keys: str) -> Profile:
    """The profile with its checkpoint replaced by an export, which no reference runs from."""
    campaign = {"engines": ["native", "graph"], "reference": ""}
    without_reference = {"claim": "baseline", "campaign": campaign, "generated": {"questions": 0}}
    checkpoint = {"kind": "export", "base": str(folder), **keys}
    return profile_from_dict(profile.resolved() | without_reference | {"checkpoint": checkpoint})


def names_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def finished(files: CheckpointFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished export; tests only read it."""
    folder = tmp_path_factory.mktemp("export") / "export"
    run(files, folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return Path(shutil.copytree(finished, tmp_path / "export"))


class TestContent:
    def test_language_shards_are_the_inputs_and_the_rest_is_rearranged(self, files: CheckpointFiles, finished: Path) -> None:
        weight_map = shards.read_index(files.base / contents.INDEX)
        language = {shard for name, shard in weight_map.items() if name.startswith(LANGUAGE)}
        index = shards.read_index(finished / INDEX)
        assert {index[name] for name in weight_map if name.startswith(LANGUAGE)} == language
        assert {index[name] for name in weight_map if name.startswith(VISION)} == {VISION_SHARD}
        assert index[HEAD] == HEAD_SHARD
        for shard in language:
            assert (finished / "base" / shard).read_bytes() == (files.base / shard).read_bytes()

    def test_the_label_rows_are_leading_rows_of_the_head(self, files: CheckpointFiles, finished: Path) -> None:
        info = shards.read_header(finished / "base" / HEAD_SHARD)[HEAD]
        whole = shards.read_header(files.base / shards.read_index(files.base / contents.INDEX)[HEAD])[HEAD]
        assert info.shape == (min(export.HEAD_ROWS, whole.shape[0]), whole.shape[1])

    def test_the_marker_names_inputs_contract_and_producer(self, files: CheckpointFiles, finished: Path) -> None:
        document = json.loads((finished / MARKER).read_text())
        assert document["format"] == "kit-export/1"
        assert document["digest"] == files.digest
        assert document["inputs"] == contents.checkpoint_hashes(files)
        assert document["contract"]["version"] == 1
        assert len(document["contract"]["label_token_ids"]) == 32
        assert set(document["producer"]) == {"kit", "exporter"}
        assert names_in(finished) == {*document["files"], MARKER}
        assert document["files"]["base/config.json"]["origin"] == "base/config.json"
        assert document["files"][f"base/{VISION_SHARD}"]["origin"] == ""

    def test_the_same_inputs_give_the_same_bytes(self, files: CheckpointFiles, finished: Path, tmp_path: Path) -> None:
        assert run(files, tmp_path / "again") == exported.read_marker(finished)

    def test_exporting_again_finds_it_done(self, files: CheckpointFiles, folder: Path) -> None:
        before = {name: (folder / name).stat().st_mtime_ns for name in names_in(folder)}
        run(files, folder)
        assert {name: (folder / name).stat().st_mtime_ns for name in names_in(folder)} == before


class TestLinks:
    def test_shards_are_linked_where_the_file_system_can(self, files: CheckpointFiles, finished: Path) -> None:
        shard = next(files.base.glob("model-*.safetensors")).name
        linked = (finished / "base" / shard).stat().st_ino == (files.base / shard).stat().st_ino
        same_system = finished.stat().st_dev == files.base.stat().st_dev
        assert linked == same_system
        assert (finished / "base" / "config.json").stat().st_nlink == 1, "editing one must not edit the other"

    def test_and_copied_where_it_cannot(
        self, files: CheckpointFiles, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
        assert run(files, tmp_path / "copied") == exported.read_marker(finished)
        shard = next(files.base.glob("model-*.safetensors")).name
        assert (tmp_path / "copied" / "base" / shard).stat().st_nlink == 1

    def test_a_read_only_source_stays_as_it_is(self, copied: CheckpointFiles, finished: Path, tmp_path: Path) -> None:
        places = [copied.base, copied.adapter]
        for place in places:
            for file in place.iterdir():
                file.chmod(0o444)
            place.chmod(0o555)
        before = contents.checkpoint_hashes(copied)
        try:
            run(copied, tmp_path / "export")
        finally:
            for place in places:
                place.chmod(0o755)
        assert contents.checkpoint_hashes(copied) == before
        assert open_export(tmp_path / "export").files == exported.read_marker(finished).files


class TestRefusedBeforeWork:
    def test_a_folder_with_something_else_in_it(self, files: CheckpointFiles, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(CheckpointError, match="not an export of ours"):
            run(files, tmp_path)
        assert names_in(tmp_path) == {"notes.txt"}

    @pytest.mark.parametrize("inside", ["base/export", "base", ".", "sub"])
    def test_a_folder_in_or_around_the_checkpoint(self, copied: CheckpointFiles, inside: str) -> None:
        with pytest.raises(CheckpointError, match="lies in the checkpoint"):
            run(copied, copied.base.parent / inside)

    def test_a_checkpoint_that_is_not_intact(self, copied: CheckpointFiles, profile: Profile, tmp_path: Path) -> None:
        shard = next(copied.base.glob("model-*.safetensors"))
        shard.write_bytes(shard.read_bytes()[:-2])
        keys = {"kind": "folder", "base": str(copied.base), "adapter": str(copied.adapter)}
        damaged = profile_from_dict(profile.resolved() | {"checkpoint": keys})
        with pytest.raises(CheckpointError, match="not fit to be exported"):
            checkpoint.export_to(damaged, tmp_path / "export")
        assert not (tmp_path / "export").exists()

    def test_a_finished_export_of_something_else(self, files: CheckpointFiles, folder: Path) -> None:
        other = dataclasses.replace(files, calibration=dataclasses.replace(files.calibration, temperature=2.0))
        with pytest.raises(CheckpointError, match="a finished export of other inputs"):
            run(other, folder)

    def test_an_export_of_an_export(self, profile: Profile, finished: Path, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="names an export already"):
            checkpoint.export_to(profile_of(profile, finished), tmp_path / "export")


class TestInterrupted:
    @pytest.fixture
    def slow(self, files: CheckpointFiles, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
        """Starts an export in another process that waits before each file."""
        started: list[subprocess.Popen[bytes]] = []
        code = (
            "import sys, time; from pathlib import Path; from kit import checkpoint; from kit.checkpoint import export\n"
            "from kit.profile import load_profile\n"
            "do = export._Export._do\n"
            "def slowly(self, name, *rest):\n"
            "    time.sleep(0.3); do(self, name, *rest)\n"
            "export._Export._do = slowly\n"
            "checkpoint.export_to(load_profile('params/cpu-tiny.toml'), Path(sys.argv[1]))\n"
        )

        def start() -> subprocess.Popen[bytes]:
            started.append(subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "export")], cwd=PROJECT_ROOT))
            return started[-1]

        yield start
        for child in started:
            child.kill()
            child.wait()

    def test_a_killed_export_goes_on_where_it_was(
        self, files: CheckpointFiles, finished: Path, slow: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        folder, child = tmp_path / "export", slow()
        while not (folder / PROGRESS).exists() or len(json.loads((folder / PROGRESS).read_text())["done"]) < 3:
            assert child.poll() is None
            time.sleep(0.02)
        with pytest.raises(CheckpointError, match="another process is exporting"):
            run(files, folder)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with pytest.raises(CheckpointError, match="was not finished"):
            open_export(folder)
        done = json.loads((folder / PROGRESS).read_text())["done"]
        kept = {name: (folder / name).stat().st_ctime_ns for name in done}
        (folder / "adapter" / f"{export.PARTIAL}half").write_bytes(b"half a file")
        assert run(files, folder) == exported.read_marker(finished)
        assert {name: (folder / name).stat().st_ctime_ns for name in done} == kept, "finished files are not made again"
        assert names_in(folder) == names_in(finished), "no partial file and no progress are left"
        open_export(folder)

    def interrupted(self, files: CheckpointFiles, folder: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        """An export that fails after so many files."""
        do = export._Export._do
        count = iter(range(1000))

        def failing(work: export._Export, name: str, origin: str, step: export.Step) -> None:
            if next(count) == after:
                raise KeyboardInterrupt
            do(work, name, origin, step)

        with monkeypatch.context() as patched:
            patched.setattr(export._Export, "_do", failing)
            with pytest.raises(KeyboardInterrupt):
                run(files, folder)

    def test_a_finished_file_that_was_cut_is_made_again(
        self, copied: CheckpointFiles, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "export"
        self.interrupted(copied, folder, monkeypatch, 4)
        name = next(iter(json.loads((folder / PROGRESS).read_text())["done"]))
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).write_bytes(data[:-1])
        assert run(copied, folder).files == exported.read_marker(finished).files

    def test_a_finished_file_that_was_changed_is_refused(
        self, copied: CheckpointFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "export"
        self.interrupted(copied, folder, monkeypatch, 4)
        name = next(iter(json.loads((folder / PROGRESS).read_text())["done"]))
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).write_bytes(bytes(len(data)))
        with pytest.raises(CheckpointError, match="changed since it was exported"):
            run(copied, folder)
        assert not (folder / MARKER).exists()

    def test_other_inputs_do_not_go_on_with_it(
        self, copied: CheckpointFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.interrupted(copied, tmp_path / "export", monkeypatch, 2)
        (copied.base / "more.json").write_text("{}")
        with pytest.raises(CheckpointError, match="unfinished export of other inputs"):
            run(copied, tmp_path / "export")

    def test_an_input_that_changes_meanwhile_stops_it(self, copied: CheckpointFiles, tmp_path: Path) -> None:
        inputs = contents.checkpoint_hashes(copied)
        (copied.adapter / "adapter_config.json").write_text("{}")
        with pytest.raises(CheckpointError, match=r"adapter/adapter_config\.json: SHA-256 is .* changed meanwhile"):
            export.export(copied, tmp_path / "export", inputs)
        assert not any(name.startswith(export.PARTIAL) for name in names_in(tmp_path / "export"))

    @pytest.mark.parametrize("text", ["", "{", '{"format": "other/1", "fingerprint": "", "done": {}}', "[]", "[" * 100_000])
    def test_progress_that_cannot_be_read(self, files: CheckpointFiles, tmp_path: Path, text: str) -> None:
        (tmp_path / PROGRESS).write_text(text)
        with pytest.raises(CheckpointError, match="cannot be continued"):
            run(files, tmp_path)

    @pytest.mark.parametrize(
        "entry",
        [1, {}, [], None, {"bytes": "1", "sha256": "0" * 64}, {"bytes": True, "sha256": "0" * 64}, {"bytes": 1, "sha256": "x"},
         {"bytes": 1, "sha256": "0" * 64, "origin": 1}, {"bytes": 1, "sha256": "0" * 64, "more": 1}],
    )  # fmt: skip
    def test_progress_with_an_entry_that_is_none(self, files: CheckpointFiles, tmp_path: Path, entry: object) -> None:
        document = {"format": export.PROGRESS_FORMAT, "fingerprint": "", "done": {"base/config.json": entry}}
        (tmp_path / PROGRESS).write_text(json.dumps(document))
        with pytest.raises(CheckpointError, match="cannot be continued"):
            run(files, tmp_path)


def edit(folder: Path, change: Callable[[dict], object]) -> None:
    document = json.loads((folder / MARKER).read_text())
    change(document)
    (folder / MARKER).write_text(json.dumps(document))


def flip(folder: Path, name: str) -> None:
    """One bit of a file of its own (a link would change the source)."""
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).unlink()
    (folder / name).write_bytes(data)


class TestRefusedAtLoad:
    @pytest.mark.parametrize(
        ("damage", "said"),
        [
            (lambda f: flip(f, f"base/{VISION_SHARD}"), "vision.safetensors has SHA-256"),
            (lambda f: flip(f, "adapter/decision_config.json"), "decision_config.json has SHA-256"),
            (lambda f: os.truncate(f / f"base/{HEAD_SHARD}", 100), "label_rows.safetensors has 100 bytes"),
            (lambda f: (f / INDEX).unlink(), "index.json is missing"),
            (lambda f: (f / "base" / "model-9.safetensors").write_bytes(b""), "model-9.safetensors does not belong"),
            (lambda f: (f / "base" / ".partial-x").write_bytes(b""), ".partial-x does not belong"),
            (lambda f: (f / MARKER).unlink(), "not an export: it has no export.json"),
            (lambda f: (f / MARKER).write_text("{"), "damaged"),
            (lambda f: (f / MARKER).write_text("[" * 100_000), "damaged"),
            (lambda f: edit(f, lambda d: d["files"].update({"base/config.json": {}})), "damaged"),
            (lambda f: edit(f, lambda d: d["files"].update({"base/config.json": 1})), "damaged"),
            (lambda f: edit(f, lambda d: d.update(contract=[])), "damaged"),
            (lambda f: edit(f, lambda d: d["contract"].pop("head_rows")), "damaged"),
            (lambda f: edit(f, lambda d: d["inputs"].update({"base/config.json": 1})), "damaged"),
            (lambda f: edit(f, lambda d: d.update(format="kit-export/2")), "format is 'kit-export/2'"),
            (lambda f: edit(f, lambda d: d["contract"].update(version=2)), "contract version 2"),
            (lambda f: edit(f, lambda d: d.update(fingerprint="0" * 64)), "its fingerprint is not"),
            (lambda f: edit(f, lambda d: d["inputs"].update({"base/config.json": "0" * 64})), "its fingerprint is not"),
            (lambda f: edit(f, lambda d: d["contract"].update(head_rows=5)), "its fingerprint is not"),
            (lambda f: edit(f, lambda d: d["files"].pop("base/config.json")), "config.json does not belong"),
            (lambda f: edit(f, lambda d: d["files"].update({"../x": d["files"]["base/config.json"]})), "not a plain relative name"),
        ],
    )  # fmt: skip
    def test_what_is_not_the_finished_export(self, folder: Path, profile: Profile, damage: Callable[[Path], object], said: str) -> None:
        damage(folder)
        with pytest.raises(CheckpointError) as error:
            checkpoint.locate(profile_of(profile, folder))
        assert said in str(error.value)

    def test_a_link_is_no_file_of_it(self, folder: Path, tmp_path: Path) -> None:
        shutil.move(folder / "base" / VISION_SHARD, tmp_path / "elsewhere")
        os.symlink(tmp_path / "elsewhere", folder / "base" / VISION_SHARD)
        with pytest.raises(CheckpointError, match="leads out of the checkpoint"):
            open_export(folder)

    @pytest.mark.parametrize("marker", exported.FOREIGN_MARKERS)
    def test_an_export_of_the_earlier_engine(self, tmp_path: Path, marker: str) -> None:
        (tmp_path / marker).write_text('{"format": "jemm-export/1"}')
        with pytest.raises(CheckpointError, match="of the earlier Rust/CUDA engine"):
            open_export(tmp_path)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="no such folder"):
            open_export(tmp_path / "nowhere")

    def test_another_checkpoint_than_the_profile_pins(self, profile: Profile, finished: Path) -> None:
        assert checkpoint.locate(profile_of(profile, finished, digest=profile.checkpoint.digest)).digest == profile.checkpoint.digest
        with pytest.raises(CheckpointError, match="the profile pins 000000000000"):
            checkpoint.locate(profile_of(profile, finished, digest="0" * 64))

    def test_progress_that_outlived_the_marker_does_no_harm(self, folder: Path) -> None:
        (folder / PROGRESS).write_text("{}")
        open_export(folder)

    def test_a_profile_without_its_folder(self, profile: Profile) -> None:
        with pytest.raises(ProfileError, match=r"checkpoint\.base is missing"):
            profile_from_dict(profile.resolved() | {"checkpoint": {"kind": "export"}})


class TestEngines:
    def test_the_native_engine_gives_the_same_bits_from_it(self, profile: Profile, finished: Path) -> None:
        from kit.campaign.poison import bits_of
        from kit.campaign.protocol import load_protocol
        from kit.engine import native

        cases = load_protocol(profile.protocol_path()).cases
        bodies = [next(case.body for case in cases if case.modality == kind) for kind in ("text", "image")]
        found = []
        for chosen in (profile, profile_of(profile, finished)):
            engine = native.load(chosen)
            found.append([bits_of(engine, engine.prepare(body)) for body in bodies])
            facts = engine.describe()
            assert facts["checkpoint_digest"] == profile.checkpoint.digest
            engine.close()
        assert found[0] == found[1]

    def test_the_reference_wants_the_whole_head(self, profile: Profile, finished: Path) -> None:
        from kit.engine import reference

        with pytest.raises(CheckpointError, match="an export holds no whole head"):
            reference.load(profile_of(profile, finished))

    def test_the_command_makes_one(self, finished: Path, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "kit", "checkpoint", "params/cpu-tiny.toml", "export"]
        done = subprocess.run(
            [*command, str(tmp_path / "export")], cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["fingerprint"] == exported.read_marker(finished).fingerprint()
        done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 2
        assert "export needs a FOLDER" in done.stderr
