import pytest

from connect_dagster.client.masking import MASK, is_secret_key, mask_config, mask_json, mask_text

SECRET_KEYS = [
    "connection.password",
    "database.password",
    "database.history.producer.ssl.key.password",
    "sasl.jaas.config",
    "producer.override.sasl.jaas.config",
    "value.converter.basic.auth.user.info",
    "ssl.keystore.key",
    "aws.secret.access.key",
    "aws.secretAccessKey",
    "connectionPassword",
    "api.key",
    "apikey",
    "oauth.client-secret",
    "github.token",
    "azure.account.key",
    "gcs.credentials.json",
    "connection.pass",
    "http.headers.authorization",
]
HARMLESS_KEYS = [
    "key.converter",
    "transforms.mask.type",
    "message.key.columns",
    "record.key",
    "pk.fields",
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.keystore.location",
    "delegation.token.expiry.time.ms",
    "tokenizer.language",
    "aws.access.key.id",
    "http.authorization.type",
    "hadoop.security.authorization",
    "bypass",
    "database.user",
]


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_key_says_that_its_value_is_secret(key: str) -> None:
    assert is_secret_key(key)
    assert mask_config({key: "s3cret"}) == {key: MASK}


@pytest.mark.parametrize("key", HARMLESS_KEYS)
def test_other_keys_show_their_value(key: str) -> None:
    assert mask_config({key: "value"}) == {key: "value"}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "jdbc:mysql://db:3306/kafkadb?user=ann&password=kafka123",
            f"jdbc:mysql://db:3306/kafkadb?user=ann&password={MASK}",
        ),
        ("jdbc:sqlserver://db;user=ann;password=kafka123;x=1", f"jdbc:sqlserver://db;user=ann;password={MASK};x=1"),
        ("http://ann:kafka123@registry:8081/subjects", f"http://ann:{MASK}@registry:8081/subjects"),
        ("mongodb+srv://ann:kafka123@cluster0.example.net/db", f"mongodb+srv://ann:{MASK}@cluster0.example.net/db"),
        ("jdbc:oracle:thin:ann/kafka123@//db:1521/shop", f"jdbc:oracle:thin:ann/{MASK}@//db:1521/shop"),
        ("jdbc:oracle:thin:@//db:1521/shop", "jdbc:oracle:thin:@//db:1521/shop"),
        ("Authorization: Bearer kafka.123", f"Authorization: Bearer {MASK}"),
        ('{"authorization": "Basic a2Fma2E="}', f'{{"authorization": "Basic {MASK}"}}'),
        ("https://a.blob.example.net/c?sv=1&sig=kafka123%3D", f"https://a.blob.example.net/c?sv=1&sig={MASK}"),
        ('Module required username="ann" password="kafka 123";', f'Module required username="ann" password={MASK};'),
        ('{"user": "ann", "password": "kafka123"}', f'{{"user": "ann", "password": {MASK}}}'),
        (
            "jdbc:mysql://db/x?trustCertificateKeyStorePassword=kafka123",
            f"jdbc:mysql://db/x?trustCertificateKeyStorePassword={MASK}",
        ),
        ("the password is wrong", "the password is wrong"),
        ("password=${file:/secrets:db}", "password=${file:/secrets:db}"),
        ("password=${file", f"password={MASK}"),
        ("jdbc:oracle:thin:ann/kafka123 at db", "jdbc:oracle:thin:ann/kafka123 at db"),
        ("jdbc:oracle:x,jdbc:oracle:thin:ann/kafka123@db", f"jdbc:oracle:x,jdbc:oracle:thin:ann/{MASK}@db"),
        ("a.b+c://x/ann:kafka123@h", "a.b+c://x/ann:kafka123@h"),
    ],
)
def test_secrets_within_a_text_are_masked(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "unit", ["a.", "a:", "a://x:", "jdbc:oracle:a:", "jdbc:oracle:a:/", "password=${,", "password "]
)
def test_a_long_text_takes_time_in_proportion(unit: str) -> None:
    """At 1f0d1e0 40,000 characters of the second took 6 s of CPU, and these 10 minutes."""
    text = unit * (400_000 // len(unit))
    assert mask_text(f"{text} password=kafka123").endswith(f" password={MASK}")


def test_placeholders_are_shown() -> None:
    config = {"connection.password": "${file:/run/secrets:password}"}
    assert mask_config(config) == config


def test_what_a_plugin_defines_as_password_is_masked_by_that() -> None:
    assert mask_config({"pin": "1234", "user": "ann"}, secret_keys={"pin"}) == {"pin": MASK, "user": "ann"}


def test_a_trace_that_quotes_a_secret_of_the_configuration_loses_it() -> None:
    config = {"database.password": "connect_dev", "connection.url": "jdbc:mysql://db/x?password=kafka123", "topic": "t"}
    trace = "Access denied for connect_user using connect_dev at db, tried kafka123"
    assert mask_text(trace, [config]) == f"Access denied for connect_user using {MASK} at db, tried {MASK}"


def test_a_secret_that_only_its_plugin_knows_is_cut_out_of_a_text() -> None:
    assert mask_text("refused for hunter22", [{"pin": "hunter22"}], secret_keys={"pin"}) == f"refused for {MASK}"


def test_a_document_loses_the_secrets_in_it() -> None:
    document = {"url": "http://ann:kafka123@db/x", "token": "abcd", "seen": [{"at": 3}, "?password=kafka123"]}
    assert mask_json(document) == {
        "url": f"http://ann:{MASK}@db/x",
        "token": MASK,
        "seen": [{"at": 3}, f"?password={MASK}"],
    }
