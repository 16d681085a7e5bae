"""One real Kafka broker for tests and benchmarks: KRaft on loopback, free ports, a small heap.

Its jars come by the ordinary Maven client, once, into a cache folder of the user. Where Java, Maven or the jars cannot
be had, `unavailable` says why in one line.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

VERSION = "3.9.1"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "windrow" / "kafka"
USER, PASSWORD = "reader", "open-sesame"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>windrow</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SECRET://127.0.0.1:{secret},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SECRET://127.0.0.1:{secret}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECRET:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.secret.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={logs}
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=400
auto.create.topics.enable=false
"""
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_END_WITH_PARENT = 1
"""Of `prctl`."""
STARTING = 90.0
"""Seconds that a broker may take to start on a busy machine."""


def unavailable() -> str | None:
    """Why there can be no broker here; None when its jars are there."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        return "confluent-kafka is not installed"
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            return f"no {program} on the PATH"
    folder = CACHE / VERSION
    if (folder / ".complete").exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM)
    command = ["mvn", "-q", "-B", "-f", "pom.xml", "dependency:copy-dependencies", "-DoutputDirectory=."]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "Maven did not fetch the jars of the broker in five minutes"
    if done.returncode:
        return f"Maven could not fetch the jars of the broker: {(done.stdout or done.stderr).strip()[:200]}"
    (folder / ".complete").touch()
    return None


class Broker:
    """A broker with its files in a folder; it may be killed and started again on the same ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.secret, self.controller = _free_ports(3)
        self.process: subprocess.Popen[bytes] | None = None
        self._topics = 0
        settings = _SETTINGS.format(
            port=self.port,
            secret=self.secret,
            controller=self.controller,
            user=USER,
            password=PASSWORD,
            logs=folder / "logs",
        )
        self.settings = folder / "server.properties"
        self.settings.write_text(settings)
        arguments = ("format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(self.settings))
        subprocess.run([*self._java("kafka.tools.StorageTool"), *arguments], check=True, capture_output=True)

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _java(self, program: str) -> list[str]:
        return ["java", *_OPTIONS, "-cp", str(CACHE / VERSION / "*"), program]

    def start(self) -> Broker:
        """Start it and wait until it answers."""
        log = (self.folder / "broker.log").open("ab")
        self.process = subprocess.Popen(
            [*self._java("kafka.Kafka"), str(self.settings)],
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_end_with_the_tests,
        )
        log.close()
        until = time.monotonic() + STARTING
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(Exception):
                self.admin().list_topics(timeout=2)
                return self
            time.sleep(0.2)
        raise RuntimeError(f"the broker did not start, see {self.folder / 'broker.log'}")

    def kill(self) -> None:
        """As a fault of the machine does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def _done(self, request: str, what: list[Any]) -> None:
        admin = self.admin()  # with which its requests end
        for made in getattr(admin, request)(what).values():
            made.result(30)

    def topic(self, partitions: int = 1, name: str | None = None, **settings: str) -> str:
        """Make a topic; its name."""
        from confluent_kafka.cimpl import NewTopic

        self._topics += 1
        name = name or f"topic-{os.getpid()}-{self._topics}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self._done("create_topics", [NewTopic(name, partitions, 1, config=config)])
        return name

    def widen(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic."""
        from confluent_kafka.cimpl import NewPartitions

        self._done("create_partitions", [NewPartitions(topic, partitions)])

    def forget(self, topic: str, partition: int, before: int) -> None:
        """Delete the messages before an offset, as the retention of a topic does."""
        from confluent_kafka import TopicPartition

        self._done("delete_records", [TopicPartition(topic, partition, before)])

    def send(self, topic: str, messages: Iterable[bytes | Mapping[str, Any] | None], partition: int = 0) -> None:
        """Send values, or messages with a key, headers and so on, to a partition."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, "log_level": 0, "acks": 1})
        for message in messages:
            fields: dict[str, Any] = {**message} if isinstance(message, Mapping) else {"value": message}
            while True:
                try:
                    producer.produce(topic, partition=fields.pop("partition", partition), **fields)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def read(self, topic: str, *, committed: bool = True) -> list[Any]:
        """All messages of a topic, partition by partition."""
        from confluent_kafka import Consumer, TopicPartition

        level = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "tests",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": level,
                "log_level": 0,
            }
        )
        partitions: Sequence[int] = list(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[Any] = []
        ended: set[int | None] = set()
        until = time.monotonic() + 60
        while len(ended) < len(partitions) and time.monotonic() < until:
            for message in consumer.consume(1000, 0.5):
                if message.error() is None:
                    found.append(message)
                else:
                    ended.add(message.partition())
        consumer.close()
        assert len(ended) == len(partitions)
        return sorted(found, key=lambda message: (message.partition(), message.offset()))


def _end_with_the_tests() -> None:
    """On Linux the broker ends with the process that started it, however that ends."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports
