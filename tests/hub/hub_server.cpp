#include "hub_server.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "model_folder.h"
#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/text.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::hub_tests {

namespace {

void run_to_end(const std::vector<std::string>& argv) {
  Child child = Child::start({.argv = argv});
  const auto status = child.wait_for(std::chrono::seconds(60));
  TB_CHECK(status && status->ok());
}

/// The program, once its folder has what it needs.
Child started(const std::filesystem::path& folder, bool tls) {
  std::vector<std::string> argv{"python3", TB_HUB_SERVER, folder.string()};
  if (tls) {
    const std::string certificate = (folder / "cert.pem").string();
    const std::string key = (folder / "key.pem").string();
    run_to_end({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                "subjectAltName=IP:127.0.0.1,DNS:localhost"});
    argv.push_back(certificate);
    argv.push_back(key);
  }
  return Child::start({.argv = argv, .log_file = folder / "server.log"});
}

}  // namespace

HubServer::HubServer(bool tls)
    : scheme_(tls ? "https" : "http"), child_(started(folder_.path(), tls)) {
  for (int tries = 0; tries < 600 && !is_there(folder_.path() / "ports.json"); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ports_ = read_json_file(folder_.path() / "ports.json");
}

std::string HubServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", scheme_, ports_.at("hub").as_int());
}

void HubServer::put(const std::string& model, const std::string& name,
                    const std::string& content) const {
  write_file_atomically(model_folder(model) / name, content);
}

void HubServer::put_model(const std::string& model) const {
  integration::make_model_folder(model_folder(model));
  put(model, "README.md", "---\nlicense: apache-2.0\n---\n# A model\n");
  put(model, "onnx/model.onnx", "other formats lie in folders");
  put(model, "pytorch_model.bin", "the same weights again");
  put(model, "handler.py", "print('code is not fetched')\n");
}

void HubServer::put_sharded_model(const std::string& model) const {
  put_model(model);
  const std::filesystem::path whole = model_folder(model) / "model.safetensors";
  Json map = Json::object();
  {
    const model::SafetensorsSet set = model::SafetensorsSet::open_file(whole);
    std::vector<model::TensorToStore> shards[2];
    for (const model::StoredTensor& tensor : set.tensors()) {
      const std::size_t shard = map.as_object().size() % 2;
      shards[shard].push_back({tensor.name, tensor.type, tensor.shape, tensor.bytes});
      map.set(tensor.name, fmt::format("model-0000{}-of-00002.safetensors", shard + 1));
    }
    for (const std::size_t shard : {0U, 1U}) {
      model::write_safetensors(
          model_folder(model) / fmt::format("model-0000{}-of-00002.safetensors", shard + 1),
          shards[shard]);
    }
  }
  std::filesystem::remove(whole);
  put(model, "model.safetensors.index.json",
      Json::object({{"metadata", Json::object({{"total_size", 1}})}, {"weight_map", map}}).dump(2));
}

void HubServer::play(const Json& faults) const {
  write_file_atomically(folder_.path() / "faults.json", faults.dump());
}

std::vector<Json> HubServer::requests() const {
  std::vector<Json> all;
  if (is_there(folder_.path() / "requests.jsonl")) {
    for (const std::string& line : split(read_file(folder_.path() / "requests.jsonl"), '\n')) {
      if (!line.empty()) {
        all.push_back(Json::parse(line, "requests.jsonl"));
      }
    }
  }
  return all;
}

std::vector<Json> HubServer::requests(const std::string& part) const {
  std::vector<Json> some;
  for (const Json& request : requests()) {
    if (request.at("path").as_string().find(part) != std::string::npos) {
      some.push_back(request);
    }
  }
  return some;
}

}  // namespace tunebench::hub_tests
