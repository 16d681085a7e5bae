"""How Spark runs the queries of tests: they are short, so compiling them thoroughly takes longer than running them."""

from __future__ import annotations

JAVA = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
