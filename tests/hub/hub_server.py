"""A model hub for tests: the part of the Hugging Face hub's HTTP interface that fetching a model takes,
and every fault that a network or a server can have, on demand.

usage: hub_server.py FOLDER [CERTIFICATE KEY]

FOLDER/models/ORG/NAME/ holds the files of each model; FOLDER/faults.json, read at each request, a list of
  {"path": part of the address, "times": N, "status": 503, ...}
of which the first that fits and has times left is played. FOLDER/ports.json appears when it listens: "hub"
and, on another port, "cdn", where large files are. FOLDER/requests.jsonl gets a line for each request.
"""

import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

ROOT = sys.argv[1]
SCHEME = "https" if len(sys.argv) > 3 else "http"
LOCK = threading.Lock()
PORTS = {}
PLAYED = {}


def is_large(name):
    return name.endswith((".safetensors", ".bin", ".gguf"))


def content_of(model, name):
    path = os.path.join(ROOT, "models", model, name)
    if ".." in name.split("/") or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def git_name(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def files_of(model):
    folder = os.path.join(ROOT, "models", model)
    names = []
    for place, _, files in os.walk(folder):
        names += [os.path.relpath(os.path.join(place, name), folder) for name in files]
    return sorted(names)


def commit_of(model):
    text = "".join(name + git_name(content_of(model, name)) for name in files_of(model))
    return hashlib.sha1(text.encode()).hexdigest()


def sibling(model, name):
    content = content_of(model, name)
    entry = {"rfilename": name, "size": len(content), "blobId": git_name(content)}
    if is_large(name):
        entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return entry


def tree_entry(model, name):
    one = sibling(model, name)
    entry = {"type": "file", "path": name, "size": one["size"], "oid": one["blobId"]}
    if "lfs" in one:
        entry["lfs"] = {"oid": one["lfs"]["sha256"], "size": one["size"], "pointerSize": 134}
    return entry


def fault_for(path):
    """The next fault to play at this address, counted down."""
    try:
        with open(os.path.join(ROOT, "faults.json")) as file:
            faults = json.load(file)
    except FileNotFoundError:
        return {}
    with LOCK:
        for number, fault in enumerate(faults):
            if fault["path"] in path and PLAYED.get(number, 0) < fault.get("times", 1):
                PLAYED[number] = PLAYED.get(number, 0) + 1
                return fault
    return {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        line = {
            "at": "cdn" if self.server.server_port == PORTS["cdn"] else "hub",
            "method": self.command,
            "path": self.path,
            "range": self.headers.get("Range"),
            "token": self.headers.get("Authorization"),
        }
        with LOCK, open(os.path.join(ROOT, "requests.jsonl"), "a") as file:
            file.write(json.dumps(line) + "\n")

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_error(self, status, code="", headers=()):
        self.answer(status, b'{"error": "no"}', [("X-Error-Code", code)] * bool(code) + list(headers))

    def answer_json(self, value):
        self.answer(200, json.dumps(value).encode(), [("Content-Type", "application/json")])

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.note()
        fault = fault_for(self.path)
        try:
            if "status" in fault:
                self.answer_error(fault["status"], fault.get("code", ""), fault.get("headers", {}).items())
            elif "body" in fault:
                self.answer(200, fault["body"].encode())
            elif "endless" in fault:
                self.send_endless()
            elif "redirect" in fault:
                here = "%s://127.0.0.1:%d%s" % (SCHEME, self.server.server_port, self.path)
                target = here if fault["redirect"] == "itself" else fault["redirect"]
                self.answer(302, headers=[("Location", target)])
            else:
                self.serve(urllib.parse.urlsplit(self.path).path, fault)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def send_endless(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(b" " * 65536)

    def serve(self, path, fault):
        parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
        if parts[0] == "cdn":
            self.send_file("/".join(parts[1:3]), "/".join(parts[3:]), fault)
        elif parts[:2] == ["api", "resolve-cache"]:
            self.send_file("/".join(parts[2:4]), "/".join(parts[4:]), fault)
        elif parts[:2] == ["api", "models"]:
            self.serve_list("/".join(parts[2:4]), parts[4:], fault)
        elif len(parts) > 4 and parts[2] == "resolve":
            self.serve_name("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self.answer_error(404)

    def has_access(self, model):
        """A folder whose name says so is gated; the token of the tests opens it."""
        if "gated" in model and self.headers.get("Authorization") != "Bearer hf_right":
            self.answer_error(401 if self.headers.get("Authorization") is None else 403, "GatedRepo")
            return False
        if not files_of(model):
            self.answer_error(401 if self.headers.get("Authorization") is None else 404, "RepoNotFound")
            return False
        return True

    def serve_list(self, model, rest, fault):
        if not self.has_access(model):
            return
        commit = commit_of(model)
        revision = rest[1] if len(rest) > 1 else "main"
        if revision not in ("main", "refs/pr/1", commit):
            self.answer_error(404, "RevisionNotFound")
        elif rest[:1] == ["tree"]:
            self.answer_json([tree_entry(model, name) for name in files_of(model)])
        else:
            siblings = [sibling(model, name) for name in files_of(model)]
            for name, changes in fault.get("change", {}).items():
                for entry in siblings:
                    if entry["rfilename"] == name:
                        entry.update(changes)
            self.answer_json({"id": model, "sha": commit, "siblings": siblings + fault.get("more", [])})

    def serve_name(self, model, commit, name):
        if not self.has_access(model):
            return
        content = content_of(model, name)
        if content is None:
            self.answer_error(404, "EntryNotFound")
            return
        headers = [("X-Repo-Commit", commit_of(model)), ("ETag", '"%s"' % git_name(content))]
        if is_large(name):
            where = "%s://localhost:%d/cdn/%s/%s" % (SCHEME, PORTS["cdn"], model, name)
            headers += [
                ("X-Linked-Etag", '"%s"' % hashlib.sha256(content).hexdigest()),
                ("X-Linked-Size", str(len(content))),
            ]
            self.answer(302, headers=headers + [("Location", where)])
        elif name == "config.json" and self.command == "GET":
            # Small files may move too, on the same server and without a host in the address.
            self.answer(307, headers=headers + [("Location", "/api/resolve-cache/%s/%s" % (model, name))])
        else:
            self.send_file(model, name, {}, headers)

    def send_file(self, model, name, fault, headers=()):
        content = content_of(model, name)
        if content is None:
            self.answer_error(404, "EntryNotFound")
            return
        if fault.get("wrong"):
            content = content[:-1] + bytes([content[-1] ^ 1])
        content += b"x" * fault.get("too_long", 0)
        begin = 0
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and not fault.get("no_range"):
            begin = int(asked[6:].split("-")[0])
        if begin > 0 and begin >= len(content):
            self.answer_error(416)
            return
        self.send_response(206 if begin else 200)
        for header, value in headers:
            self.send_header(header, value)
        if begin:
            shown = begin + fault.get("shift", 0)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (shown, len(content) - 1, len(content)))
        if fault.get("no_length"):
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        if self.command == "HEAD":
            return
        content = content[begin:]
        if "cut" in fault:
            self.wfile.write(content[: fault["cut"]])
            self.wfile.flush()
            self.close_connection = True
            if "stall_s" in fault:
                time.sleep(fault["stall_s"])
            return
        if "slow_s" in fault:
            for at in range(0, len(content), 4096):
                self.wfile.write(content[at : at + 4096])
                self.wfile.flush()
                time.sleep(fault["slow_s"])
            return
        self.wfile.write(content)


def listen():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if SCHEME == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def main():
    hub, cdn = listen(), listen()
    PORTS.update(hub=hub.server_port, cdn=cdn.server_port)
    threading.Thread(target=cdn.serve_forever, daemon=True).start()
    with open(os.path.join(ROOT, "ports.json.new"), "w") as file:
        json.dump(PORTS, file)
    os.rename(os.path.join(ROOT, "ports.json.new"), os.path.join(ROOT, "ports.json"))
    hub.serve_forever()


main()
