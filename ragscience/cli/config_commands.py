"""`query.py config`, `profiles` and `models`: the settings, the ways to search, and the models at work."""

from difflib import get_close_matches
from json import dumps, loads
from pathlib import Path
from typing import Any

from ragscience.cli import options as opt
from ragscience.cli.groups import make_app
from ragscience.cli.output import console, facts, print_json, print_table, put
from ragscience.cli.running import as_called, default_home, opened, say
from ragscience.cli.screen import IngestScreen
from ragscience.core.errors import UsageError
from ragscience.core.records import Profile
from ragscience.core.serialization import SCHEMA_VERSION, select
from ragscience.engine.printable import one_line

LISTED = "`python query.py config` lists them all."
config_app = make_app(
    "Show and change settings.\n\n"
    "A command's option overrides the environment (RAG_TOP_K), which overrides config.toml in the home, which "
    "overrides the default. If nothing sets ollama_url, Ollama's own OLLAMA_HOST is used.",
    default="show",
    bare="show",
)
NAMES = opt.argument("NAME", "Names of settings.", autocompletion=opt.settings_names)


@config_app.command("show")
def show(
    run: opt.Run,
    names: list[str] | None = opt.argument(
        "NAME", "Show only these settings, with their meaning.", None, autocompletion=opt.settings_names
    ),
) -> None:
    """Show each setting, its value and where the value comes from."""
    from ragscience.core import settings as stored

    loaded = stored.load_with_sources(default_home=default_home(), home=run.home)
    for name in names or ():
        _check_name(name)
    shown = names or list(stored.Settings.model_fields)
    out = console()
    if not names:
        rows = [(name, _written(getattr(loaded.settings, name)), loaded.sources[name]) for name in shown]
        print_table(("setting", "value", "from"), rows, out, wraps=("value",))
    for name in names or ():
        facts([(name, f"{_written(getattr(loaded.settings, name))}  {loaded.sources[name]}")], out)
        _print(f"  {stored.Settings.model_fields[name].description}")
    for name, value in sorted(loaded.not_allowed.items()):
        if name in shown:
            _print(f"not allowed: {name} = {_written(value)} (`python query.py config allow` allows it)")
    for text in loaded.unknown:
        say(text)
    if not names:
        _print(f"Saved settings: {stored.config_file(loaded.settings.home)}")


@config_app.command("set")
def set_values(
    run: opt.Run,
    words: list[str] = opt.argument(
        "NAME VALUE", "A setting and its value, or several such pairs.", autocompletion=opt.settings_names
    ),
) -> None:
    """Save settings in config.toml in the home.

    Comments in the file stay. Write lists as JSON.
    """
    from ragscience.core import settings as stored

    if len(words) % 2:
        raise UsageError("Each setting needs a value.", "Write: python query.py config set top_k 6")
    place = stored.find_home(run.home, default_home())
    stored.check_home(place)
    changes = _checked(place, dict(zip(words[::2], words[1::2], strict=True)))
    stored.write_config(place, changes)
    guarded = [stored.permission(place, name, value) for name, value in changes.items() if stored.is_guarded(name)]
    if guarded:
        stored.allow(guarded)
    sources = stored.load_with_sources(default_home=place, home=run.home).sources
    for name, value in changes.items():
        _print(f"{name} = {_written(value)} in {stored.config_file(place)}")
        if sources[name] == "environment":
            say(f"{stored.ENV_PREFIX}{name.upper()} in the environment overrides it.")


@config_app.command("unset")
def unset(run: opt.Run, names: list[str] = NAMES) -> None:
    """Remove settings from config.toml in the home."""
    from ragscience.core import settings as stored

    place = stored.find_home(run.home, default_home())
    kept = stored.read_config(place)
    for name in names:
        if name not in kept:
            raise UsageError(f"{stored.config_file(place)} does not set {name}.", LISTED)
    stored.write_config(place, dict.fromkeys(names))
    for name in names:
        _print(f"{name} is no longer in {stored.config_file(place)}")


@config_app.command("allow")
def allow_values(run: opt.Run) -> None:
    """Allow the risky settings in config.toml.

    That is what can start a program, send text elsewhere, or use files. It holds for these values in this home, and for
    you alone; a value that changes has to be allowed again.
    """
    from ragscience.core import settings as stored

    loaded = stored.load_with_sources(default_home=default_home(), home=run.home)
    waiting = loaded.not_allowed
    if not waiting:
        _print("There is nothing to allow.")
        return
    stored.allow(stored.permission(loaded.settings.home, name, value) for name, value in waiting.items())
    for name, value in sorted(waiting.items()):
        _print(f"allowed: {name} = {_written(value)}")


def _checked(home: Path, words: dict[str, str]) -> dict[str, Any]:
    """The values as config.toml keeps them. Raises UsageError for one that is not allowed with the others there."""
    from ragscience.core import settings as stored

    given: dict[str, Any] = {}
    for name, word in words.items():
        _check_name(name)
        if name == "home":
            raise UsageError("config.toml in a home cannot set the home.", "Set RAG_HOME, or give --home.")
        if name == "llm_key":
            raise UsageError("A key is never in config.toml.", "Set RAG_LLM_KEY, or name a file in llm_key_file.")
        default = stored.Settings.model_fields[name].default
        given[name] = _list(name, word) if isinstance(default, tuple) else stored.absolute_path(name, word, Path.cwd())
    there = {name: value for name, value in stored.read_config(home).items() if name not in ("home", *given)}
    others = {name: stored.absolute_path(name, value, home) for name, value in there.items()}
    settings = stored.default_settings(home, **others, **given)
    return {name: _as_kept(getattr(settings, name), given[name]) for name in given}


def _as_kept(value: Any, given: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return given if isinstance(value, str | Path) else value


def _list(name: str, word: str) -> Any:
    try:
        return loads(word)
    except ValueError:
        raise UsageError(f"{name} is a list, and {word!r} is not one.", """Write: '["METHOD"]'""") from None


def _check_name(name: str) -> None:
    from ragscience.core import settings as stored

    if name not in stored.Settings.model_fields:
        near = get_close_matches(name, stored.Settings.model_fields, n=1)
        raise UsageError(f"There is no setting {name}.", f"Did you mean {near[0]}? {LISTED}" if near else LISTED)


def _written(value: object) -> str:
    """A value on one line, as TOML has it."""
    return dumps(value, ensure_ascii=False, default=str)


def _print(text: str) -> None:

    put(console(), one_line(as_called(text)))


_SEARCHES = {"dense": "dense", "bm25": "keyword", "graph": "graph", "gear": "graph paths"}
"""What each search is called, by its name in the JSON."""
PROFILE = (
    "name chosen about dense_candidates bm25_candidates fusion weights prefilter rerank_depth rerank_batch llm_reranks "
    "corrective passages"
)
"""The fields of a profile in JSON."""
models_app = make_app("Show which models are used, or fetch missing ones.", default="list", bare="list")


def list_profiles(run: opt.Run, json: bool = opt.JSON) -> int:
    """List the search profiles, for --profile."""
    with opened(**run.flags()) as engine:
        profiles, chosen = engine.profiles(), engine.settings.profile
    if json:
        more = [{"chosen": one.name == chosen, "weights": _weights(one), "passages": one.top_k} for one in profiles]
        found = [select(PROFILE, one, **each) for one, each in zip(profiles, more, strict=True)]
        return print_json(select("schema profiles", profiles=found))
    heads = ("profile", "in use", "about", "candidates", "first pass", "reranked", "passages")
    rows = [
        (one.name, "in use" if one.name == chosen else "", one.about,
         f"{one.dense_candidates} dense, {one.bm25_candidates} keyword", _first_pass(one),
         (f"reranks {one.rerank_depth}" if one.rerank_depth else "no reranking")
         + ("; searches again if doubtful" if one.corrective else ""),
         f"{one.top_k} passages")
        for one in profiles
    ]  # fmt: skip
    print_table(heads, rows, console(), wraps=(), joined=2)
    return 0


@models_app.command("list")
def list_models(run: opt.Run, json: bool = opt.JSON) -> int:
    """Show which model each part uses, where it is and why."""
    with opened(**run.flags()) as engine:
        rows = engine.model_rows()
    if json:
        return print_json({"schema": SCHEMA_VERSION, "models": rows})
    cells = [(one.part, one.model or "none", one.where, one.why, one.warning) for one in rows]
    print_table(("part", "model", "where", "why", "warning"), cells, console(), wraps=(), joined=2)
    return 0


@models_app.command()
def pull(run: opt.Run, name: str = opt.MODEL) -> int:
    """Fetch one model, or those of the settings that are missing.

    They come from the Hugging Face Hub; `ollama pull` fetches Ollama's. What is on this machine already is shown.
    """
    from ragscience.engine.library_engine import pull_models

    screen = IngestScreen(quiet=False)
    with screen, opened(screen, **run.flags()) as engine:
        return 0 if pull_models(engine, screen, name) else 1


def _weights(profile: Profile) -> dict[str, float]:
    return {"dense": profile.dense_weight, "bm25": profile.bm25_weight, **dict(profile.more_weights)}


def _first_pass(profile: Profile) -> str:
    weights = " + ".join(f"{weight:g} {_SEARCHES[name]}" for name, weight in _weights(profile).items())
    return f"{profile.fusion}: {weights}" + (f", best {profile.prefilter}" if profile.prefilter else "")
