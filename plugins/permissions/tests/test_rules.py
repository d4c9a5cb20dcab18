"""Rules: what can be written, what it means, and how a mistake is named."""

from __future__ import annotations

from typing import Any

import pytest
from turnhub_permissions.rules import RuleError, rule
from turnhub_permissions.testing import FakeFiles, called, engine_over, judged


def verdict(rules: dict[str, list[str]], tool: str, files: FakeFiles | None = None, **given: Any) -> str:
    """What a policy of nothing but these rules says of a call."""
    return called(engine_over({"p": rules}, files), "p", tool, given).verdict


def bash(allow: str, command: str) -> str:
    """What a policy of one rule that allows says of a command."""
    return judged(engine_over({"p": {"allow": [allow]}}), "p", command).verdict


@pytest.mark.parametrize(
    ("text", "command", "wanted"),
    [
        ("Bash(git status)", "git status", "allow"),
        ("Bash(git status)", "git status -s", "ask"),
        ("Bash(git status)", "git statusx", "ask"),
        ("Bash(npm run test:*)", "npm run test", "allow"),
        ("Bash(npm run test:*)", "npm run test -- -x 'a b'", "allow"),
        ("Bash(npm run test:*)", "npm run tests", "ask"),
        ("Bash(npm run test:*)", "npm run test:unit -- -x", "allow"),
        ("Bash(npm run test:*)", "npm run test:unit && npm run evil", "ask"),
        ("Bash(git:*)", "git:x", "ask"),
        ("Bash(npm run test*)", "npm run tests", "allow"),
        ("Bash(npm *)", "npm", "allow"),
        ("Bash(npm *)", "npmx", "ask"),
        ("Bash(npm * --dry-run)", "npm pack --tag x --dry-run", "allow"),
        ("Bash(npm * --dry-run)", "npm pack", "ask"),
        ("Bash(* --version)", "unknown --version", "allow"),
        ("Bash(make test)", "make  test", "allow"),
        ("Bash(make test)", "'make' \"test\"", "allow"),
        ("Bash(make test)", "/usr/bin/make test", "allow"),
        ("Bash(/usr/bin/make test)", "make test", "allow"),
        ("Bash(make test)", "./make test", "ask"),
        ("Bash(make test)", "/tmp/make test", "ask"),
        ("Bash(make 'a b')", "make a\\ b", "allow"),
        ("Bash(make 'a b')", "make a b", "ask"),
        ("Bash", "make anything", "allow"),
        ("Bash(*)", "make anything", "allow"),
        ("Bash(:*)", "make anything", "allow"),
        ("*", "make anything", "allow"),
        ("Bash(make a && make b)", "make a && make b", "allow"),
        ("Bash(make a && make b)", "make a", "ask"),
        ("Bash(make a && make b)", "make a && make b && make c", "ask"),
        ("Bash(make $X)", "make $X", "allow"),
    ],
)
def test_commands_are_matched_word_by_word(text: str, command: str, wanted: str) -> None:
    """A rule is about one command as the shell takes it; without a wildcard it is that very command."""
    assert bash(text, command) == wanted


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Bash(rm -rf *)", "rm -rf x"),
        ("Bash(rm -rf *)", "rm -fr x"),
        ("Bash(rm -rf *)", "rm -r -f x"),
        ("Bash(rm -rf *)", "rm x -rf"),
        ("Bash(rm -rf *)", "rm -vRf x"),
        ("Bash(rm -rf *)", "rm --force --recursive x"),
        ("Bash(rm -rf *)", "./bin/rm -rf x"),
        ("Bash(rm *)", "/opt/rm x"),
        ("Bash(git push --force *)", "git push origin main --force"),
        ("Bash(git push -f *)", "git push --force"),
        ("Bash(git push *)", "ls && sh -c 'git push'"),
        ("Bash(curl *)", "ls | xargs curl"),
        ("Bash(curl * | sh)", "curl x  |  sh"),
        ("Bash(sudo *)", "sudo ls"),
        ("Bash(xargs *)", "ls | xargs ls"),
        ("Bash", "ls"),
        ("Bash(*)", "ls"),
        ("Bash(ls)", "ls"),
    ],
)
def test_what_is_denied_is_denied_however_it_is_called(text: str, command: str) -> None:
    """Flags in another order or spelling, another directory, a wrapper around it."""
    assert judged(engine_over({"p": {"allow": ["*"], "deny": [text]}}), "p", command).verdict == "deny"


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ("Read(docs/**)", "docs/a.md", "allow"),
        ("Read(docs/**)", "docs/new/deep/x", "allow"),
        ("Read(docs/**)", "./src/../docs/a.md", "allow"),
        ("Read(docs/**)", "/home/ada/project/docs/a.md", "allow"),
        ("Read(docs/**)", "src/a.py", "ask"),
        ("Read(docs/**)", "docs/../src/a.py", "ask"),
        ("Read(docs/**)", "docs/out/passwd", "ask"),
        ("Read(docs/**)", "docsx/a", "ask"),
        ("Read(docs/*)", "docs/new/x", "ask"),
        ("Read(*.md)", "docs/a.md", "allow"),
        ("Read(./*.md)", "docs/a.md", "ask"),
        ("Read(src/**/*.py)", "src/a.py", "allow"),
        ("Read(src/**/*.py)", "src/sub/c.py", "allow"),
        ("Read(src/[ab].py)", "src/a.py", "allow"),
        ("Read(src/[!a].py)", "src/a.py", "ask"),
        ("Read(src/?.py)", "src/a.py", "allow"),
        ("Read(~/notes.txt)", "~/notes.txt", "allow"),
        ("Read(~/notes.txt)", "../notes.txt", "allow"),
        ("Read(/etc/**)", "/etc/passwd", "allow"),
        ("Read(/etc/**)", "docs/out/passwd", "allow"),
        ("Read(//etc/**)", "/etc/passwd", "allow"),
        ("Read(./**)", "/etc/passwd", "ask"),
        ("Read", "/etc/passwd", "allow"),
        ("Read(/**)", "/etc/passwd", "allow"),
        ("Read(**)", "/etc/passwd", "allow"),
        ("Read", "~/.ssh/id_rsa", "ask"),
        ("*", ".env", "ask"),
    ],
)
def test_paths_are_resolved_before_they_are_matched(text: str, path: str, wanted: str) -> None:
    """Links, `..`, `~` and the working directory; files that do not exist too; secrets always ask."""
    assert verdict({"allow": [text]}, "Read", file_path=path) == wanted


def test_a_denied_place_is_denied_under_every_name() -> None:
    """By its name, through a link, from elsewhere, and all that lies below it."""
    rules = {"allow": ["*"], "deny": ["Read(src)", "Edit(/etc)"]}
    for path in ("src/a.py", "list/a.py", "src/sub/c.py", "/home/ada/project/src/a.py", "docs/../src/a.py"):
        assert verdict(rules, "Read", file_path=path) == "deny", path
    for path in ("/etc/passwd", "docs/out/passwd", "docs/out/new"):
        assert verdict(rules, "Write", file_path=path) == "deny", path


def test_upper_and_lower_case_are_as_in_the_file_system() -> None:
    """Where names fold, a rule is about all of them; elsewhere about one."""
    rules = {"allow": ["Read(./**)"], "deny": ["Read(src/**)"]}
    assert verdict(rules, "Read", FakeFiles(folds=True), file_path="SRC/A.py") == "deny"
    assert verdict(rules, "Read", file_path="SRC/A.py") == "allow"


@pytest.mark.parametrize(
    ("tool", "beside", "wanted"),
    [
        ("Bash", {"description": "an unsafe one", "timeout": 1000, "run_in_background": True}, "allow"),
        ("Bash", {"dangerouslyDisableSandbox": True}, "ask"),
        ("Bash", {"dangerouslyDisableSandbox": False}, "allow"),
        ("Bash", {"elevate": "root"}, "ask"),
        ("Task", {"mode": "plan", "prompt": "mind the unsafe code"}, "allow"),
        ("Task", {"mode": "bypassPermissions"}, "ask"),
        ("Agent", {"permission_mode": "dontAsk"}, "ask"),
    ],
)
def test_what_takes_limits_off_a_call_always_asks(tool: str, beside: dict[str, object], wanted: str) -> None:
    """Also of a command or a helper that is allowed, and under ``yolo``; what nobody knows asks too."""
    about = {"command": "ls -la"} if tool == "Bash" else {"subagent_type": "x"}
    given = {**about, **beside}
    engine = engine_over({"one": {"allow": ["Bash(ls:*)", "Task(x)", "Agent(x)"]}})
    for policy in ("one", "yolo"):
        assert called(engine, policy, tool, given).verdict == wanted


@pytest.mark.parametrize(
    ("allow", "tool", "wanted"),
    [
        ("Edit", "Edit", "allow"),
        ("Edit", "Write", "allow"),
        ("Edit", "MultiEdit", "allow"),
        ("Write", "Write", "allow"),
        ("Write", "Edit", "ask"),
        ("Edit(src/**)", "Write", "allow"),
        ("Read", "Edit", "ask"),
        ("Edit(docs/**)", "Edit", "ask"),
    ],
)
def test_rules_of_editing_hold_for_all_tools_that_edit(allow: str, tool: str, wanted: str) -> None:
    """`Edit` covers them all; `Write` what writes whole files."""
    assert verdict({"allow": [allow]}, tool, file_path="src/a.py") == wanted


def test_a_command_is_held_to_the_rules_of_reading_and_editing() -> None:
    """What a program may do with a file is what the tools may."""
    engine = engine_over(
        {"p": {"allow": ["Bash(cat:*)", "Bash(tee:*)", "Read(docs/**)", "Edit(src/**)"], "ask": ["Read(docs/b*)"]}}
    )
    wanted = {
        "cat docs/a.md": "allow",
        "cat src/a.py": "ask",
        "cat docs/b.md": "ask",
        "cat < docs/a.md": "allow",
        "cat docs/a.md > src/x": "allow",
        "cat docs/a.md > docs/x": "ask",
        "tee src/x": "allow",
        "tee docs/x": "ask",
        "cat docs/a.md docs/out/passwd": "ask",
        "cat > /dev/null": "allow",
    }
    assert {command: judged(engine, "p", command).verdict for command in wanted} == wanted


def test_without_rules_of_reading_a_command_may_read_where_it_works() -> None:
    """A policy that says nothing of reading does not make `Bash(wc:*)` useless; outside it asks."""
    engine = engine_over({"p": {"allow": ["Bash(wc:*)"]}})
    assert [judged(engine, "p", f"wc {path}").verdict for path in ("src/a.py", "/etc/passwd", ".env")] == [
        "allow",
        "ask",
        "ask",
    ]


@pytest.mark.parametrize(
    ("allow", "tool", "wanted"),
    [
        ("mcp__files__read", "mcp__files__read", "allow"),
        ("mcp__files__read", "mcp__files__write", "ask"),
        ("mcp__files", "mcp__files__write", "allow"),
        ("mcp__files", "mcp__files2__write", "ask"),
        ("mcp__files__*", "mcp__files__write", "allow"),
        ("mcp__*", "mcp__other__x", "allow"),
        ("TodoWrite", "TodoWrite", "allow"),
        ("TodoWrite", "TodoRead", "ask"),
        ("*", "Anything", "allow"),
    ],
)
def test_other_tools_are_named(allow: str, tool: str, wanted: str) -> None:
    """A tool, all of a server's, or everything."""
    assert verdict({"allow": [allow]}, tool) == wanted


@pytest.mark.parametrize(
    ("allow", "url", "wanted"),
    [
        ("WebFetch(domain:example.com)", "https://example.com/x", "allow"),
        ("WebFetch(domain:example.com)", "https://EXAMPLE.com./x", "allow"),
        ("WebFetch(domain:example.com)", "http://example.com:8080/", "allow"),
        ("WebFetch(domain:example.com)", "https://www.example.com/", "ask"),
        ("WebFetch(domain:example.com)", "https://example.com.evil.net/", "ask"),
        ("WebFetch(domain:example.com)", "https://example.com@evil.net/", "ask"),
        ("WebFetch(domain:example.com)", "https://evil.net/?x=example.com", "ask"),
        ("WebFetch(domain:example.com)", "https://evil.net\\@example.com/", "ask"),
        ("WebFetch(domain:example.com)", "file:///etc/passwd", "ask"),
        ("WebFetch(domain:*.example.com)", "https://a.b.example.com/", "allow"),
        ("WebFetch", "https://anything.net/", "allow"),
        ("WebFetch", "http://169.254.169.254/latest/meta-data/", "ask"),
        ("*", "not a url", "ask"),
    ],
)
def test_fetching_is_judged_by_the_host(allow: str, url: str, wanted: str) -> None:
    """By the host that is really asked, not by what looks like it."""
    assert verdict({"allow": [allow]}, "WebFetch", url=url) == wanted


def test_a_denied_domain_is_denied_with_all_below_it() -> None:
    """A deny is wider than an allow."""
    rules = {"allow": ["*"], "deny": ["WebFetch(domain:example.com)"]}
    assert verdict(rules, "WebFetch", url="https://www.example.com/") == "deny"
    assert verdict(rules, "WebFetch", url="https://example.net/") == "allow"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected `Tool`"),
        ("Bash(", "parentheses"),
        ("Bash)", "parentheses"),
        ("Bash()", "nothing stands in the parentheses"),
        ("Bash(ls) x", "expected `Tool`"),
        ("bash(ls)", "did you mean 'Bash'"),
        ("READ", "did you mean 'Read'"),
        ("Bahs(ls)", "did you mean 'Bash'"),
        ("TodoWrite(x)", "takes nothing in parentheses"),
        ("mcp__a__b(x)", "takes nothing in parentheses"),
        ("Ba*", "cannot hold `*`"),
        ("Bash(ls && rm *)", "one rule for each command"),
        ("Bash(echo 'x)", "quotes do not match"),
        ("Read(../x)", "holds `..`"),
        ("Read(~bob/x)", "another user's home"),
        ("WebFetch(example.com)", "expected `domain:`"),
        ("WebFetch(domain:exa mple)", "expected `domain:`"),
        ("git status", "expected `Tool`"),
    ],
)
def test_a_rule_that_is_none_is_refused_in_a_sentence(text: str, says: str) -> None:
    """It says what is wrong with it."""
    with pytest.raises(RuleError, match=says.replace("(", r"\(").replace("*", r"\*").replace("..", r"\.\.")):
        rule(text, "allow")


def test_asking_stands_before_allowing_and_denying_before_both() -> None:
    """Whatever order they are written in."""
    rules = {"allow": ["*"], "ask": ["Bash(make:*)"], "deny": ["Bash(make clean)"]}
    engine = engine_over({"p": rules})
    assert [judged(engine, "p", f"make{rest}").verdict for rest in ("", " clean", " x")] == ["ask", "deny", "ask"]
    assert judged(engine, "p", "maker").verdict == "allow"


@pytest.mark.parametrize(
    "given", [{}, {"command": None}, {"command": 5}, {"command": ""}, {"command": " \n"}, {"command": "\ud800"}]
)
def test_a_call_without_a_command_is_not_allowed(given: dict[str, Any]) -> None:
    """Nothing that can be read: a person looks at it."""
    assert called(engine_over({}), "yolo", "Bash", given).verdict == "ask"


@pytest.mark.parametrize("given", [{}, {"file_path": 1}, {"file_path": ""}, {"file_path": "a\0b"}])
def test_a_file_tool_without_a_file_is_not_allowed(given: dict[str, Any]) -> None:
    """It names nothing that could be judged."""
    assert called(engine_over({}), "yolo", "Read", given).verdict == "ask"


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("Grep", {"pattern": "x"}, "allow"),
        ("Grep", {"pattern": "x", "path": "src"}, "allow"),
        ("Grep", {"pattern": "x", "path": "/etc"}, "ask"),
        ("Grep", {"pattern": "x", "path": "~/.ssh"}, "ask"),
        ("Grep", {"pattern": "x", "glob": ".env*"}, "ask"),
        ("Grep", {"pattern": "x", "glob": "*.{py,pem}"}, "ask"),
        ("Grep", {"pattern": "x", "glob": "*.py"}, "allow"),
        ("Glob", {"pattern": "**/*.py"}, "allow"),
        ("Glob", {"pattern": "/etc/**"}, "ask"),
        ("Glob", {"pattern": "../**"}, "ask"),
        ("Glob", {"pattern": "~/**"}, "ask"),
        ("Glob", {"pattern": "docs/out/*"}, "ask"),
        ("LS", {"path": "src"}, "allow"),
        ("LS", {"path": "/"}, "ask"),
    ],
)
def test_searching_tools_are_held_to_where_they_look(tool: str, given: dict[str, Any], wanted: str) -> None:
    """Under `reads`, inside the working directory and around secrets."""
    assert called(engine_over({}), "reads", tool, given).verdict == wanted
