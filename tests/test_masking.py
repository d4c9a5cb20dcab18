"""Masking: what is a secret is gone, what only looks near one stays, and nothing is masked twice."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.masking import MASK, mask, mask_json
from tests.strategies import json_objects

_HEX = "9f86d081884c7d659a2feaa0c55ad015"
_B64 = "dGhpcyBpcyBub3QgYSBzZWNyZXQ"

SECRETS = [
    # keys and tokens of known makers, put together here so that no scanner takes this file for a leak
    ("key sk-ant-" + "api03-" + _HEX * 2, _HEX),
    ("OpenAI: sk-" + "proj-" + _HEX, _HEX),
    ("stripe sk_" + "live_" + _HEX, _HEX),
    ("token gh" + "p_" + _HEX + "abcd", _HEX),
    ("git clone with github_" + "pat_" + _HEX + "_" + _HEX, _HEX),
    ("gl" + "pat-" + _HEX[:20], _HEX[:20]),
    ("npm_" + _HEX + _HEX[:4], _HEX),
    ("xox" + "b-123456789012-" + _HEX, _HEX),
    ("id AK" + "IA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"),
    ("maps AI" + "za" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    ("hf" + "_" + _HEX, _HEX),
    ("jwt eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + _B64, _B64),
    ("groq gs" + "k_" + _HEX + "abcd", _HEX),
    ("xa" + "i-" + _HEX, _HEX),
    ("nvap" + "i-" + _HEX, _HEX),
    ("vault hv" + "s." + _HEX, _HEX),
    ("databricks dap" + "i" + _HEX, _HEX),
    ("dckr" + "_pat_" + _HEX, _HEX),
    ("gl" + "rt-" + _HEX, _HEX),
    ("figd" + "_" + _HEX + "abcdefgh", _HEX),
    ("lin" + "_api_" + _HEX, _HEX),
    ("SK" + _HEX, _HEX),
    ("bot 123456789" + ":AA" + _HEX + "x", _HEX),
    ("GOCS" + "PX-" + _HEX, _HEX),
    ("turnhub th" + "_" + _HEX + _HEX, _HEX),
    ("jwe eyJ" + "hbGciOiJkaXIifQ.." + _B64 + "." + _B64 + "." + _B64, _B64),
    ("https://hooks.slack" + ".com/services/T000/B000/" + _HEX, _HEX),
    # private keys, whole and cut off
    (f"…\n{_B64}\n{_B64}\n-----END PRIVATE KEY-----\n", _B64),
    (f"    27\t{_B64}\n    28\t-----END RSA PRIVATE KEY-----\n", _B64),
    (f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n{_B64}\n{_B64}\nPrivate-MAC: 1", _B64),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{_B64}\n{_B64}\n-----END RSA PRIVATE KEY-----", _B64),
    (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{_B64}\n{_B64}", _B64),
    (f"cat id:\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{_B64}\n-----END PGP PRIVATE KEY BLOCK-----\n$", _B64),
    # headers
    (f"Authorization: Bearer {_B64}", _B64),
    (f"curl -H 'Authorization: Basic {_B64}=' https://example.org", _B64),
    (f"authorization: {_HEX}", _HEX),
    (f'{{"Authorization": "token {_HEX}"}}', _HEX),
    (f"he said bearer {_B64}", _B64),
    (f"Cookie: session={_HEX}; theme=dark", _HEX),
    (f"set-cookie: sid={_HEX}; HttpOnly", _HEX),
    (f"X-Api-Key: {_HEX}", _HEX),
    (f'{{"cookie": "sid={_HEX}"}}', _HEX),
    (f"curl -b 'sid={_HEX}' https://example.org", _HEX),
    # lines of .env files, whatever the value looks like
    ("DB_PASS=hunter", "hunter"),
    ("PASSWORD=correcthorse", "correcthorse"),
    ('SMTP_PASSWORD="two words"', "two words"),
    (f"OPENAI_KEY={_HEX}", _HEX),
    (f"     3\tAPP_KEY=base64:{_B64}0=", _B64),
    (f"SECRET_KEY_BASE={_HEX}", _HEX),
    (f"docker run -e STRIPE_KEY={_HEX} image", _HEX),
    # assignments
    (f"API_KEY={_HEX}", _HEX),
    ("export DB_PASSWORD='correct-horse'", "correct-horse"),
    ("PASSWORD=hunter2!", "hunter2"),
    (f"AWS_SECRET_ACCESS_KEY={_B64}/x", _B64),
    (f"client_secret: {_HEX}", _HEX),
    ('"clientSecret": "q8Wz!x"', "q8Wz"),
    (f'  refresh_token = "{_HEX}"', _HEX),
    ('{\\"password\\": \\"hunter2x\\"}', "hunter2x"),
    (f"spring.datasource.password={_HEX}", _HEX),
    (f"TURNHUB_TOKEN={_HEX} turnhub serve", _HEX),
    ('password => "s3cr3t-thing"', "s3cr3t-thing"),
    # options and addresses
    ("mysql --password hunter22 -h db", "hunter22"),
    (f"tool --api-key={_HEX}", _HEX),
    (f"tool --token '{_HEX}' run", _HEX),
    (f"https://example.org/x?access_token={_HEX}&page=2", _HEX),
    (f"http://127.0.0.1:8420/?token={_HEX}", _HEX),
    ("postgres://app:hunter2@db/app", "hunter2"),
    ("postgres://app:p@hunter2@db/app", "hunter2"),
    (f"https://{_HEX}@example.org/r.git", _HEX),
    (f"https://x.blob.core.windows.net/c?sv=2022&sig={_HEX}&se=1", _HEX),
    ("curl -s -u admin:hunter2 https://example.org", "hunter2"),
    ("mysqldump -u root -phunter2 shop", "hunter2"),
    ("sshpass -p hunter2 ssh box", "hunter2"),
    ("machine example.org login me password hunter", "hunter"),
    ('{"auths": {"registry": {"auth": "' + _B64 + '"}}}', _B64),
    ("redis://:hunter2@localhost:6379/0", "hunter2"),
    ("git push https://me:p%40ss@example.org/r.git", "p%40ss"),
    ("postgres://app:p/q7/r@db/app", "p/q7/r"),
    ("amqp://app:slash/es@mq.example.org/v", "slash/es"),
    # passwords that are words
    ("host=db user=me password=correcthorse dbname=x", "correcthorse"),
    ("spring.datasource.password=correcthorse", "correcthorse"),
    ("curl -d 'user=me&password=horse' https://example.org", "horse"),
    ("db:\n  user: me\n  password: correcthorse\n", "correcthorse"),
    ("pwd = battery\r\n", "battery"),
    ('password = "correct horse"', "correct horse"),
    ("db_password: 'correct horse battery'", "horse"),
    ('{"dbPassword": "correct horse"}', "correct horse"),
    # the passwords of psql
    ("localhost:5432:shop:me:horse", "horse"),
    ("*:*:*:postgres:horse\nother:5433:shop:me:staple", "staple"),
    # short tokens
    ("bearer a1b2", "a1b2"),
    ("Authorization: Bearer abc1", "abc1"),
    ("curl -H 'authorization: token q7'", "q7"),
]

ORDINARY = [
    "The token count is 1500 and max_tokens: 4096.",
    "input_tokens=1200 output_tokens=30",
    "Forgot your password? Reset it here: https://example.org/reset",
    "def f(token: str, password: Optional[str] = None) -> None:",
    "token = get_token()",
    "token = tokens[0]",
    "password = os.environ['DB_PASSWORD']",
    "API_KEY=$API_KEY make deploy",
    "API_KEY=${API_KEY:?missing}",
    "password: ${{ secrets.DB }}",
    "password=<your password>",
    "token: null",
    "secret: true",
    "The secret: work hard.",
    "if token == expected:",
    "token == sha256",
    "std::token::Kind",
    "Bearer tokens are checked first.",
    "Authorization: none",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "msg_01m8n0a252p9dn1xhpsvr7k5wx ses_01m8n0a252p9dn1xhpsvr7k5wx",
    "uuid 550e8400-e29b-41d4-a716-446655440000",
    "https://example.org:8080/a/b?page=2#token",
    "ssh://git@example.org/repo.git",
    "mailto:me@example.org and user:group /etc",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "tokenizer = load('gpt2')",
    "password_hint=first pet",
    "login(user, password=value)",
    "connect(password=config)",
    "Your password: a secret word that you know.",
    "password=<word>",
    "def f(password=None, other=1):",
    "The password is kept by pass.",
    "main.c:1234:12:error:x",
    "a.example.org:8080:80:443",
    "The bearer of this letter; bearer bonds; Bearer auth.",
    "Authorization: Basic auth",
    "https://example.org:8080/a/b@c",
    "git+ssh://git@host:org/repo.git@v1",
    "keyboard: us",
    "monkey=banana7!",
    "skip sk-learn and sk-1",
    "task-management-and-other-hyphenated-words-in-a-row",
    "src/auth/token.py:12: error",
    "git commit --signoff --author me",
    "mysql --password",
    "cookies: many were eaten",
    "$ cat .env\n# nothing here",
    "SORT_KEY=name PRIMARY_KEY=id AUTH=basic",
    "re_match_group_number_2_of_the_long_expression(re_1)",
    "docker run -u 1000:1000 image",
    "curl https://example.org/a:b -u",
    "mysql -u root -p",
    "ssh://very-long-host-name-without-a-user.example.org/r.git",
    "https://example.org/a@b https://example.org:80/x@y",
    "abcdefgh\n-----END CERTIFICATE-----",
    "patch.2024.json key-value pairs pattern",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=lambda value: value[:24])
def test_a_secret_is_masked(text: str, secret: str) -> None:
    """The secret is gone, the mark stands in its place."""
    masked = mask(text)
    assert secret not in masked
    assert MASK in masked


@pytest.mark.parametrize("text", ORDINARY, ids=lambda value: value[:24])
def test_what_is_no_secret_stays(text: str) -> None:
    """Words near secrets, code that handles them, hashes and ids are told as they are."""
    assert mask(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    """Names, quotes, users, hosts and further parameters can still be read."""
    assert mask("postgres://app:hunter2@db/app") == f"postgres://app:{MASK}@db/app"
    assert mask("password='a b=c1' X=1") == f"password='{MASK}' X=1"
    assert mask("token='a b=c1' X=1") == "token='a b=c1' X=1"
    assert mask("PASSWORD='abc1' X=1") == f"PASSWORD='{MASK}' X=1"
    assert mask("https://x.org/?token=abc123&page=2") == f"https://x.org/?token={MASK}&page=2"
    assert mask("curl -H 'Authorization: Bearer abcdef123' x") == f"curl -H 'Authorization: Bearer {MASK}' x"
    block = "a\n-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nb"
    assert mask(block) == f"a\n-----BEGIN PRIVATE KEY-----\n{MASK}\n-----END PRIVATE KEY-----\nb"


def test_a_string_behind_a_telling_name_is_masked_in_json() -> None:
    """Whatever it looks like; numbers, references and what holds further fields are looked into, not masked."""
    value = {
        "password": "plain words",
        "apiKey": "word",
        "x-api-key": "word",
        "Authorization": "word",
        "max_tokens": 5,
        "token": {"kind": "name"},
        "secret": "$SECRET",
        "tokens": ["a"],
        "list": [{"DB_PASSWORD": "word", "name": "password"}],
    }
    assert mask_json(value) == {
        "password": MASK,
        "apiKey": MASK,
        "x-api-key": MASK,
        "Authorization": MASK,
        "max_tokens": 5,
        "token": {"kind": "name"},
        "secret": "$SECRET",
        "tokens": ["a"],
        "list": [{"DB_PASSWORD": MASK, "name": "password"}],
    }


def test_names_beside_a_value_and_options_before_one_tell_of_it() -> None:
    """Lists of variables, and the arguments of a command."""
    value = {
        "env": [{"name": "DB_PASS", "value": "word"}, {"key": "MODE", "value": "word"}],
        "args": ["--password", "word", "--user", "word", "password", "word"],
    }
    assert mask_json(value) == {
        "env": [{"name": "DB_PASS", "value": MASK}, {"key": "MODE", "value": "word"}],
        "args": ["--password", MASK, "--user", "word", "password", "word"],
    }


def test_names_that_are_kept_are_kept_on_the_outermost_level_only() -> None:
    """An event's own fields are no content; the same name inside its content is."""
    value = {"token": "abc", "input": {"token": "abc"}}
    assert mask_json(value, frozenset({"token"})) == {"token": "abc", "input": {"token": MASK}}


_pieces = st.lists(
    st.sampled_from([text for text, _ in SECRETS] + ORDINARY)
    | st.text(max_size=20)
    | st.sampled_from(list("=:'\" \n")),
    max_size=6,
)


@given(_pieces.map("".join))
def test_masking_twice_changes_nothing(text: str) -> None:
    """Also where secrets and ordinary words run into each other."""
    once = mask(text)
    assert mask(once) == once


@given(json_objects)
def test_masked_json_is_json_of_the_same_shape(value: dict[str, object]) -> None:
    """Masking what has no secret in it changes nothing, and what it makes can be written."""
    assert msgspec.json.encode(mask_json(value))
    assert mask_json(mask_json(value)) == mask_json(value)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "a_" * 100_000,
        "-" * 200_000,
        "token" * 40_000,
        "a://" * 50_000,
        "=" * 100_000,
        "password: " * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "a.b-" * 50_000,
        "?a" * 100_000,
        "curl -u " * 12_000,
        "A_KEY=" * 30_000,
        "mysql -p " * 20_000,
        "YWJjZGVm\n" * 20_000,
        "YWJjZGVm\n-----END PRIVATE KEY-----\n" * 5_000,
        "eyJhbGciOiJ.eyJ" * 15_000,
    ],
)
def test_masking_takes_time_in_proportion(text: str) -> None:
    """Long text of any kind is looked through in a moment."""
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 5
