"""A broker of our own as a careful company runs one: SASL_SSL, client certificates, ACLs.

One process of our jars, on ports of its own, with certificates made on the spot. Its third
listener, without a login, is the administrator's. Import the fixture `secure_kafka`.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from infra.kafka_settings import PREFIX
from infra.layout import BROKER_JARS
from infra.ports import free_port
from infra.setup import java_command

USER, PASSWORD = "tide", 'pa ss"wörd\\of-the-tide'
"""A password that must be quoted wherever somebody is careless."""

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=ADMIN://127.0.0.1:{admin},LOGIN://127.0.0.1:{login},CERTIFICATE://127.0.0.1:{certificate},\
CONTROLLER://127.0.0.1:{controller}
advertised.listeners=ADMIN://127.0.0.1:{admin},LOGIN://localhost:{login},\
CERTIFICATE://localhost:{certificate}
listener.security.protocol.map=ADMIN:PLAINTEXT,LOGIN:SASL_SSL,CERTIFICATE:SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=ADMIN
log.dirs={data}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
required user_plain="simple";
listener.name.login.scram-sha-256.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.login.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
listener.name.certificate.ssl.client.auth=required
listener.name.certificate.ssl.principal.mapping.rules=RULE:^CN=([a-z]+).*$/$1/
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
auto.create.topics.enable=false
log.retention.ms=-1
"""


@dataclass(frozen=True)
class SecureBroker:
    """A running broker.

    Attributes:
        folder: has its certificates: `ca.pem`, `other-ca.pem`, and `client.pem` of user `otter`.
        login: `host:port` of the listener that wants SASL over TLS; `localhost` is in its
            certificate, `127.0.0.1` is not.
        certificate: of the one that wants a client's certificate.
        admin: of the one that wants nothing.
        log: of its process.
    """

    folder: Path
    login: str
    certificate: str
    admin: str
    log: Path

    def settings(
        self,
        *,
        bootstrap: str = "",
        username: str = USER,
        password: str = PASSWORD,
        mechanism: str = "SCRAM-SHA-512",
        ca: str = "ca.pem",
    ) -> dict[str, str]:
        """The environment of a user of the listener with a login."""
        given = {
            "BOOTSTRAP": bootstrap or self.login,
            "SASL_MECHANISM": mechanism,
            "USERNAME": username,
            "PASSWORD": password,
            "CA": str(self.folder / ca),
        }
        return {f"{PREFIX}{name}": value for name, value in given.items()}

    def allow(self, user: str, *operations: str, topic: str) -> None:
        """Grant operations on a topic; `*` for all topics."""
        with closing(KafkaAdminClient(bootstrap_servers=self.admin)) as client:
            client.create_acls([_acl(user, one, topic) for one in operations])

    def forbid(self, user: str, *operations: str, topic: str) -> None:
        """Take them back."""
        with closing(KafkaAdminClient(bootstrap_servers=self.admin)) as client:
            client.delete_acls([_acl(user, one, topic, ACLFilter) for one in operations])

    def add_user(self, name: str, password: str) -> None:
        """Make a user who may log in by both kinds of SCRAM."""
        kinds = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        with closing(KafkaAdminClient(bootstrap_servers=self.admin)) as client:
            for kind in kinds:  # not twice in one request
                made = UserScramCredentialUpsertion(name, kind, password=password)
                assert client.alter_user_scram_credentials([made]) == {name: None}


def _acl(user: str, operation: str, topic: str, kind: type = ACL) -> object:
    return kind(
        principal=f"User:{user}",
        host="*",
        operation=ACLOperation[operation],
        permission_type=ACLPermissionType.ALLOW,
        resource_pattern=ResourcePattern(ResourceType.TOPIC, topic),
    )


@contextmanager
def running(folder: Path) -> Iterator[SecureBroker]:
    """Start the broker in a folder, with its first user; stop it in the end."""
    make_certificates(folder)
    ports = {name: free_port() for name in ("admin", "login", "certificate", "controller")}
    properties = folder / "server.properties"
    properties.write_text(_PROPERTIES.format(folder=folder, data=folder / "data", **ports))
    java = [java_command() or "java", "-Xmx384m", "-cp", f"{BROKER_JARS}/*"]
    format_ = ["kafka.tools.StorageTool", "format", "-t", "c2xhY2t3YXRlci10ZXN0cw"]
    subprocess.run([*java, *format_, "-c", properties], check=True, stdout=subprocess.DEVNULL)
    log = folder / "broker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", properties], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    broker = SecureBroker(
        folder,
        login=f"localhost:{ports['login']}",
        certificate=f"localhost:{ports['certificate']}",
        admin=f"127.0.0.1:{ports['admin']}",
        log=log,
    )
    try:
        _await(broker, process)
        broker.add_user(USER, PASSWORD)
        yield broker
    finally:
        process.terminate()
        process.wait(30)


def _await(broker: SecureBroker, process: "subprocess.Popen[bytes]") -> None:
    from infra import kafka
    from infra.errors import NotReady

    until_s = time.monotonic() + 60
    while True:
        try:
            kafka.check(int(broker.admin.rpartition(":")[2]))
            return
        except NotReady:
            assert process.poll() is None, broker.log.read_text()[-2000:]
            assert time.monotonic() < until_s, broker.log.read_text()[-2000:]
        time.sleep(0.3)


def make_certificates(folder: Path) -> None:
    """Two authorities; a broker's certificate for `localhost`, a client's for `otter`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ca", "other-ca"):
        key = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"]
        _openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            *key,
            "-subj",
            f"/CN={name}",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        )
    for name, subject, extension in (
        ("broker", "/CN=broker", "subjectAltName=DNS:localhost"),
        ("client", "/CN=otter", "extendedKeyUsage=clientAuth"),
    ):
        request, key = folder / f"{name}.csr", folder / f"{name}.key"
        chain, extra = folder / f"{name}.crt", folder / f"{name}.ext"
        extra.write_text(extension)
        _openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            key,
            "-out",
            request,
            "-subj",
            subject,
        )
        _openssl(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            folder / "ca.pem",
            "-CAkey",
            folder / "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            extra,
            "-out",
            chain,
        )
        (folder / f"{name}.pem").write_text(key.read_text() + chain.read_text())


def _openssl(*words: object) -> None:
    program = shutil.which("openssl")
    assert program, "openssl is missing: install it (Debian: apt-get install openssl)"
    subprocess.run([program, *map(str, words)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """The session's broker with a login."""
    with running(tmp_path_factory.mktemp("secure-kafka")) as broker:
        yield broker


@contextmanager
def given(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have this process take these settings, and no others."""
    with monkeypatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(PREFIX)]:
            patch.delenv(name)
        for name, value in settings.items():
            patch.setenv(name, value)
        yield
