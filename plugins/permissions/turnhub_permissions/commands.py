"""``turnhub policy``: looks at policies without a hub: judge, check, explain, list, show, import."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from hub import Caller, ConfigError, HubError, hub_command, read_policies

if TYPE_CHECKING:
    from hub import Client, PolicyBundle
    from turnhub_permissions.engine import Engine
    from turnhub_permissions.judge import Judgement
    from turnhub_permissions.policies import Policy

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="The configuration file; default: ./turnhub.toml."
)
json_option = click.option("--json", "as_json", is_flag=True, help="For machines: JSON on stdout.")
_TEXTS = {
    "Bash": "command",
    "WebFetch": "url",
    "WebSearch": "query",
    "Grep": "path",
    "Glob": "pattern",
    "LS": "path",
}


class Wrong(click.ClickException):
    """One line on stderr; used wrongly."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(f"turnhub: {self.format_message()}", file=file, err=file is None)


def plainly(function: Callable[..., None]) -> Callable[..., None]:
    """Errors of the hub as one line and exit code 2."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except HubError as error:
            raise Wrong(error.detail) from None

    return command


@click.group()
def policy() -> None:
    """Look at policies: what they are made of, and what they say."""


@policy.command()
@config_option
@click.option("--policy", "name", required=True, help="The policy to judge by.")
@json_option
@plainly
def judge(config: Path | None, name: str, as_json: bool) -> None:
    """Judge calls from stdin, a JSON object {tool, input, cwd} a line; prints a line for each.

    Needs no running hub. A line that is no call gets an error in its place, and the exit code 2.
    """
    engine, chosen = _prepared(config, name)
    if sys.stdin.isatty():
        click.echo('Type calls, as {"tool": "Bash", "input": {"command": "ls"}}; Ctrl-D ends.', err=True)
    wrong = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            tool, given, cwd = _call(line)
        except ValueError as error:
            wrong += 1
            click.echo(f"turnhub: line {number}: {error}.", err=True)
            click.echo(
                json.dumps({"error": f"line {number}: {error}"}) if as_json else f"error: line {number}: {error}"
            )
            continue
        judged = engine.judge(chosen, tool, given, cwd)
        click.echo(json.dumps(_facts(judged)) if as_json else f"{judged.verdict}\t{judged.rule}\t{judged.why}")
    if wrong:
        sys.exit(Wrong.exit_code)


def _prepared(config: Path | None, name: str) -> tuple[Engine, Policy]:
    from turnhub_permissions.engine import checked

    engine = checked(read_policies(config))
    return engine, engine.policy(name, "--policy")


def _call(line: bytes) -> tuple[str, dict[str, Any], str]:
    try:
        call = json.loads(line)
    except ValueError as error:
        raise ValueError(f"is no JSON ({error})") from None
    if not isinstance(call, dict):
        raise ValueError("expected an object {tool, input, cwd}")  # noqa: TRY004 - one kind of error for a bad line
    tool, given, cwd = call.get("tool"), call.get("input", {}), call.get("cwd", ".")
    if not isinstance(tool, str) or not tool:
        raise ValueError("`tool` has to be the name of a tool")
    if not isinstance(given, dict):
        raise ValueError("`input` has to be an object")  # noqa: TRY004
    if not isinstance(cwd, str) or not cwd or "\0" in cwd:
        raise ValueError("`cwd` has to be a directory")
    return tool, given, str(Path(cwd).expanduser().absolute())


def _facts(judged: Judgement) -> dict[str, str]:
    from turnhub_permissions.policies import OWN

    return {"verdict": judged.verdict, "plugin": OWN, "rule": judged.rule, "why": judged.why}


@policy.command()
@config_option
@json_option
@plainly
def check(config: Path | None, as_json: bool) -> None:
    """Check every policy of the configuration: names, circles, rules.

    Exits with 2 and names file, key and rule where one is wrong.
    """
    from turnhub_permissions.engine import checked

    try:
        engine = checked(read_policies(config))
    except ConfigError as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "error": error.detail}))
        raise
    names = engine.source.names
    told = {"ok": True, "where": engine.source.where, "policies": list(names)}
    click.echo(json.dumps(told) if as_json else f"{engine.source.where}: all is well with {', '.join(names)}.")


@policy.command("list")
@config_option
@json_option
@plainly
def list_(config: Path | None, as_json: bool) -> None:
    """List the policies, where they come from and what they are for."""
    from turnhub_permissions.engine import source_of

    source = source_of(read_policies(config))
    rows = [_row(source, name) for name in source.names]
    for row in rows:
        if not as_json:
            click.echo(f"{row['name']}\t{row['from']}\t{row['description'] or '-'}")
    if as_json:
        click.echo(json.dumps(rows, indent=2))


def _row(source: Any, name: str) -> dict[str, Any]:
    bundle: PolicyBundle = source.find(name)
    origin = source.where if name in source.configured else f"plugin {source.givers.get(name, '?')}"
    return {"name": name, "from": origin, "extends": list(bundle.extends), "description": bundle.description}


@policy.command()
@click.argument("name")
@config_option
@json_option
@plainly
def show(name: str, config: Path | None, as_json: bool) -> None:
    """Show policy NAME with all that it extends, what is extended first."""
    import msgspec

    from turnhub_permissions.claude_settings import as_toml
    from turnhub_permissions.engine import Engine, source_of
    from turnhub_permissions.policies import flattened

    source = source_of(read_policies(config))
    Engine(source).policy(name, "NAME")
    bundles = flattened(source, name, "NAME")
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(bundles), indent=2).decode())
        return
    click.echo("\n".join(as_toml(bundle, filter(None, [bundle.description])) for bundle in bundles), nl=False)


@policy.command("import")
@click.argument("project", type=click.Path(path_type=Path, exists=True, file_okay=False), default=".")
@click.option("--name", default="imported", show_default=True, help="What the policy is called.")
@click.option("--config-dir", type=click.Path(path_type=Path), help="Claude Code's directory; default: ~/.claude.")
@click.option("--file", "files", type=click.Path(path_type=Path), multiple=True, help="These settings only.")
@plainly
def import_(project: Path, name: str, config_dir: Path | None, files: tuple[Path, ...]) -> None:
    """Print the permissions of Claude Code's settings, yours and those of PROJECT, as a policy for turnhub.toml.

    What cannot be taken over is told on stderr.
    """
    from turnhub_permissions.claude_settings import as_toml, import_settings, settings_files

    wanted = files or settings_files(project, config_dir or Path.home() / ".claude")
    if not wanted:
        raise Wrong(
            f"there are no settings of Claude Code in {project / '.claude'} or in {config_dir or '~/.claude'}."
        )
    found = import_settings(wanted, name)
    click.echo(as_toml(found.bundle, [f"from {file}" for file in found.files]), nl=False)
    for line in found.left_out:
        click.echo(f"turnhub: {line}", err=True)


@policy.command()
@click.argument("words", nargs=-1, metavar="[SESSION] TOOL INPUT")
@click.option("--policy", "name", help="This policy, without a session and without a hub.")
@click.option("--cwd", help="The working directory; default: the session's, or this one.")
@hub_command
@plainly
def explain(caller: Caller, words: tuple[str, ...], name: str | None, cwd: str | None) -> None:
    """Show how TOOL with INPUT is judged: every step, every rule that was looked at, and why.

    INPUT is a JSON object, or a command, path or address alone. With SESSION a running hub says under which
    policy and where the session works; the rules are those of the configuration here.
    """
    wanted = 2 if name else 3
    if len(words) != wanted:
        raise click.UsageError("give TOOL and INPUT with --policy, or SESSION, TOOL and INPUT")
    tool, given = words[-2], _input(words[-2], words[-1])
    config = caller.where.config().path
    if name:
        _explain(caller, _prepared(config, name), (tool, given), cwd or ".")
        return

    async def work(client: Client) -> int:
        session = (await client.session(words[0]))["session"]
        engine, chosen = _of_session(config, session.get("policy"))
        grant = _grant(await client.grants(words[0]), tool, given)
        _explain(caller, (engine, chosen), (tool, given), cwd or str(session["cwd"]), grant)
        return 0

    caller.run(work)


def _of_session(config: Path | None, name: str | None) -> tuple[Engine, Policy]:
    from turnhub_permissions.engine import checked

    engine = checked(read_policies(config))
    return engine, engine.policy(name, "the session's policy")


def _grant(grants: list[dict[str, Any]], tool: str, given: dict[str, Any]) -> str | None:
    """The id of the grant that covers a call: of that tool, about that very thing or about anything."""
    subject = given.get(_TEXTS.get(tool, "notebook_path" if tool.startswith("Notebook") else "file_path"))
    for one in grants:
        if one["tool"] == tool and one["subject"] in (None, subject):
            return str(one["id"])
    return None


def _input(tool: str, text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return given
    return {_TEXTS.get(tool, "notebook_path" if tool.startswith("Notebook") else "file_path"): text}


def _explain(
    caller: Caller, by: tuple[Engine, Policy], call: tuple[str, dict[str, Any]], cwd: str, grant: str | None = None
) -> None:
    import msgspec

    engine, chosen = by
    tool, given = call
    place = str(Path(cwd).expanduser().absolute())
    judged = engine.judge(chosen, tool, given, place, grant=grant, explain=True)
    facts: dict[str, Any] = {
        **_facts(judged),
        **({"plugin": "grant"} if judged.rule == grant else {}),
        "danger": judged.danger,
        "policy": chosen.name or None,
        "cwd": place,
        "chain": msgspec.to_builtins(judged.chain),
    }
    if caller.out.json:
        caller.out.document(facts)
        return
    caller.out.line(f"policy {chosen.name or '(none)'}, in {place}")
    for one in judged.chain:
        rule = f"  [{one.rule}, policy {one.origin}]" if one.rule else ""
        caller.out.line(f"{one.step:>13}  {one.about}: {one.says}{rule}")
        others = [text for text in one.looked_at if text != one.rule]
        if others:
            caller.out.line(f"{'':>13}  looked at: {', '.join(others)}")
    caller.out.line(f"{judged.verdict}: {judged.rule}. {judged.why}")
