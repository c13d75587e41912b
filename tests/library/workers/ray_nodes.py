"""A Ray cluster on loopback: a head without workers and two nodes with one each, as processes of their own.

    python -m tests.library.workers.ray_nodes

Prints its address and the process ids of the two nodes as JSON, and ends with its stdin.
"""

import json
import os
import sys


def main():
    # Ray's mode for one machine: nothing listens beyond loopback.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    from ray.cluster_utils import Cluster

    options = {"object_store_memory": 80 << 20, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **options})
    try:
        nodes = [cluster.add_node(num_cpus=1, **options) for _ in range(2)]
        pids = [node.all_processes["raylet"][0].process.pid for node in nodes]
        print(json.dumps({"address": cluster.address, "nodes": pids}), flush=True)
        sys.stdin.read()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
