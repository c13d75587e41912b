"""Completion by <Tab>: what can stand at a place of the command line, and the script that a shell asks it with.

Nothing here writes, opens a library or fails aloud: where something cannot be read, nothing is offered.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args

import typer

from ragscience.cli.run_options import Debug, default_home
from ragscience.core.errors import UsageError

__all__ = [
    "VARIABLE",
    "answer_shell",
    "chats",
    "kinds",
    "papers",
    "print_script",
    "profiles",
    "rerankers",
    "settings_names",
]

VARIABLE = "_RAGSCIENCE_COMPLETE"
"""The environment variable with which a shell asks."""
BASH = """_{function}_completion() {{
    local IFS=$'\\n' found word quoted
    COMPREPLY=()
    mapfile -t found < <(env COMP_WORDS="${{COMP_WORDS[*]}}" COMP_CWORD="$COMP_CWORD" \\
        {variable}=complete_bash {program} 2>/dev/null)
    for word in "${{found[@]}}"; do
        if [[ -n $word ]]; then printf -v quoted %q "$word"; COMPREPLY+=("$quoted"); fi
    done
}}
complete -o default -F _{function}_completion {name}
"""
SHELLS = ("bash", "zsh", "fish")


def answer_shell(app: Callable[..., Any], called: str) -> NoReturn:
    """Print what can stand where the cursor is, as the shell's script asks, and end the process."""
    from typer._completion_classes import completion_init

    completion_init()
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # for what is left of this process
    with contextlib.suppress(Exception):
        app(prog_name=called, complete_var=VARIABLE)
    sys.exit(0)


def shells(incomplete: str) -> Iterable[str]:
    """Shells that begin so."""
    return _beginning(incomplete, lambda: SHELLS)


def print_script(
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL", help="Your shell: bash, zsh or fish.", show_default=False, autocompletion=shells
        ),
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The name under which you run the program.")
    ] = "ragscience",
    debug: Debug = False,  # noqa: ARG001  # run_app looks it up
) -> int:
    """Print a script with which <Tab> completes commands, options, papers, chats and settings.

    To switch it on, add one line to the file that your shell reads when it starts. In ~/.bashrc or ~/.zshrc:
    `eval "$(ragscience completion bash)"`, with zsh for bash in the latter. In ~/.config/fish/config.fish:
    `ragscience completion fish | source`.

    Without an installed `ragscience`, write `python /path/to/query.py completion bash`: the script then defines the
    command of that name, too.
    """
    if shell not in SHELLS:
        raise UsageError(f"There is no completion for {shell!r}.", f"Choose one of {', '.join(SHELLS)}.")
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{name!r} is not a valid command name.", "Use letters, digits, - and _.")
    script = Path(sys.argv[0]).resolve()
    is_script = script.suffix == ".py" and script.stem != "__main__"
    program = shlex.join([sys.executable, str(script)]) if is_script else "ragscience"
    sys.stdout.write(_script(shell, name, program, defines=is_script or name != "ragscience"))
    return 0


def _script(shell: str, name: str, program: str, *, defines: bool) -> str:
    from typer._completion_shared import get_completion_script

    if shell == "bash":
        made = BASH.format(function=name.replace("-", "_"), variable=VARIABLE, name=name, program=program)
    else:
        made = get_completion_script(prog_name=name, complete_var=VARIABLE, shell=shell) + "\n"
        for before in (f"{VARIABLE}=complete_zsh", "(commandline -cp)"):
            made = made.replace(f"{before} {name}", f"{before} {program}")
    if not defines:
        return made
    made = made.removeprefix(f"#compdef {name}").lstrip()
    if shell == "fish":
        return f"function {name}; {program} $argv; end\n{made}"
    return f'{name}() {{ {program} "$@"; }}\n{made}'


def papers(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """File names of the papers in the library that begin so."""
    from ragscience.engine.completion_words import paper_names

    return _beginning(incomplete, lambda: paper_names(_home(ctx)))


def chats(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Names of conversations that begin so."""
    from ragscience.engine.completion_words import conversation_names

    return _beginning(incomplete, lambda: conversation_names(_home(ctx)))


def kinds(incomplete: str) -> Iterable[str]:
    """Kinds of passages that begin so."""
    from ragscience.engine.filter_words import KINDS

    return _beginning(incomplete, lambda: KINDS)


def profiles(incomplete: str) -> Iterable[str]:
    """Profiles that begin so."""
    from ragscience.core.settings import Settings

    return _beginning(incomplete, lambda: get_args(Settings.model_fields["profile"].annotation))


def rerankers(incomplete: str) -> Iterable[str]:
    """Rerankers that begin so."""
    from ragscience.core.settings import Settings

    return _beginning(incomplete, lambda: get_args(Settings.model_fields["rerank"].annotation))


def settings_names(incomplete: str) -> Iterable[str]:
    """Names of settings that begin so."""
    from ragscience.core.settings import Settings

    return _beginning(incomplete, lambda: Settings.model_fields)


def _beginning(incomplete: str, words: Callable[[], Iterable[str]]) -> list[str]:
    with contextlib.suppress(Exception):
        return sorted({word for word in words() if word.startswith(incomplete)})
    return []


def _home(ctx: typer.Context) -> Path:
    return Path(ctx.params.get("home") or os.environ.get("RAG_HOME") or default_home()).expanduser()
