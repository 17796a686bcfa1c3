"""What checks and tests make once for all clones belongs to one lock, and a user's own Spark stays his."""

from pathlib import Path

import caches
import pyspark
import pytest


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def set_variables(**variables: str) -> dict[str, str]:
    caches.set_spark_variables(variables)
    return variables


def test_all_clones_start_the_spark_beside_the_archive(tmp_path: Path) -> None:
    variables = set_variables()
    home = Path(variables["SPARK_HOME"])
    assert home.parent == Path(variables["SPARK_CLASSES_DIR"])
    assert home.is_relative_to(tmp_path)
    jars = Path(pyspark.__file__).parent / "jars"
    names = sorted(path.name for path in jars.glob("*.jar"))
    assert sorted(path.name for path in (home / "jars").glob("*.jar")) == names != []
    assert all((home / "jars" / name).samefile(jars / name) for name in names)
    assert (home / "bin" / "spark-submit").is_file()
    assert set_variables() == variables
    assert [path.name for path in home.parent.iterdir()] == ["spark"]


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CLASSES_DIR"])
def test_what_the_user_has_set_stays(tmp_path: Path, name: str) -> None:
    variables = set_variables(**{name: "/of/the/user"})
    assert variables[name] == "/of/the/user"
    assert [*tmp_path.iterdir()] == []


def test_another_lock_has_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = caches.LOCK.read_text(encoding="utf-8")
    version = caches.read_lock("pyspark").partition("\n")[0].split()[0]
    before = set_variables()["SPARK_CLASSES_DIR"], caches.find_types_folder()
    for new, has_other_spark in ((f"{text}\nother==1\n", False), (text.replace(version, "pyspark==9.9"), True)):
        (tmp_path / "lock").write_text(new, encoding="utf-8")
        monkeypatch.setattr(caches, "LOCK", tmp_path / "lock")
        assert (set_variables()["SPARK_CLASSES_DIR"] != before[0]) == has_other_spark
        assert caches.find_types_folder() != before[1]


def test_other_modules_of_models_have_another_folder_of_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policies" / "models").mkdir(parents=True)
    monkeypatch.setattr(caches, "ROOT", tmp_path)
    before = caches.find_types_folder()
    (tmp_path / "policies" / "models" / "draft.py").touch()
    assert caches.find_types_folder() != before
