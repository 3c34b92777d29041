#!/usr/bin/env python3
"""Measures `pernode up` as a user meets it: cold start, memory, one DaemonSet on many nodes.

usage: up.py PERNODE [--nodes 1000] [--starts 10]

Needs kubectl for the last figure: its own start is subtracted by timing from the creation time
that the server wrote to the last status change, both read from the object's watch.
"""
import argparse, json, os, signal, statistics, subprocess, tempfile, time


def start(pernode, data, nodes):
    """The process and the seconds from exec to its greeting, which is printed when the API answers."""
    began = time.perf_counter()
    process = subprocess.Popen([pernode, "up", "--data-dir", data, "--listen", "127.0.0.1:0", "--nodes", str(nodes)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if "Ctrl-C" in line:
            return process, time.perf_counter() - began
    raise SystemExit("pernode up did not become ready")


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait()


def resident_mib(process):
    for line in open(f"/proc/{process.pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024


def cpu_seconds(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


MANIFEST = {
    "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
    "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
        "metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "agent:1"}]}}}}


def roll_out(data, nodes):
    """Seconds from sending the DaemonSet to all its pods available, seen on a watch."""
    env = dict(os.environ, KUBECONFIG=f"{data}/kubeconfig", KUBECACHEDIR=f"{data}/cache")
    watch = subprocess.Popen(["kubectl", "get", "ds", "-w", "-o", "json", "--output-watch-events"], env=env,
                             stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    began = time.perf_counter()
    subprocess.run(["kubectl", "create", "--validate=ignore", "-f", "-"], input=json.dumps(MANIFEST), text=True, env=env, check=True,
                   stdout=subprocess.DEVNULL)
    text, decoder = "", json.JSONDecoder()
    while True:
        text += watch.stdout.readline()
        try:
            event, end = decoder.raw_decode(text.lstrip())
        except ValueError:
            continue
        text = text.lstrip()[end:]
        if event["object"].get("status", {}).get("numberAvailable", 0) >= nodes:
            watch.kill()
            return time.perf_counter() - began


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pernode")
    options.add_argument("--nodes", type=int, default=1000)
    options.add_argument("--starts", type=int, default=10)
    args = options.parse_args()
    firsts, agains = [], []
    for _ in range(args.starts):
        with tempfile.TemporaryDirectory() as data:
            for times in (firsts, agains):
                process, seconds = start(args.pernode, data, 4)
                times.append(seconds)
                stop(process)
    print(f"cold start, new directory   median {statistics.median(firsts):.3f} s   max {max(firsts):.3f} s")
    print(f"cold start, second start    median {statistics.median(agains):.3f} s   max {max(agains):.3f} s")
    for nodes in (4, args.nodes):
        with tempfile.TemporaryDirectory() as data:
            process, seconds = start(args.pernode, data, nodes)
            time.sleep(10)
            before = cpu_seconds(process)
            print(f"{nodes} nodes, idle: ready in {seconds:.2f} s, resident {resident_mib(process):.0f} MiB")
            if nodes == args.nodes:
                print(f"one DaemonSet on {nodes} nodes: {roll_out(data, nodes):.2f} s, "
                      f"{cpu_seconds(process) - before:.2f} CPU-seconds, resident {resident_mib(process):.0f} MiB")
            stop(process)


main()
