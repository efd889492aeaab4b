#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/ado_results.h"
#include "tunebench/exchange/internal/sqlite_reader.h"

namespace tunebench::exchange {
namespace {

constexpr std::string_view kPrefix = "sqlsource_";
constexpr std::string_view kResults = "_measurement_results";

struct AdoEntity {
  std::string generator;
  NamedTexts inputs;
};

/// Text of a member that may be absent or null.
std::string text_in(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value == nullptr ? "" : cell_of(*value);
}

/// [{value, property: {identifier}}], as entities and parameterisations hold values.
NamedTexts property_values(const Json* values) {
  NamedTexts named;
  if (values == nullptr || values->is_null()) {
    return named;
  }
  for (const Json& one : values->as_array()) {
    named.emplace_back(one.at("property").at("identifier").as_string(), cell_of(one.at("value")));
  }
  return named;
}

/// At the top of a result; old versions wrote it into each of its measurements instead.
const Json& reference_in(const Json& result) {
  const Json* reference = result.find("experimentReference");
  if (reference != nullptr && reference->is_object()) {
    return *reference;
  }
  const Json::Array& measurements = result.at("measurements").as_array();
  if (measurements.empty()) {
    throw Error(ErrorCode::Corrupt, "it does not say which experiment it is of");
  }
  return measurements.front().at("property").at("experimentReference");
}

class AdoSampleStore {
 public:
  AdoSampleStore(SqliteReader& database, std::string id, const ColumnMap& map, ForeignRows& rows)
      : database_(database), id_(std::move(id)), map_(map), rows_(rows) {}

  void read() {
    read_entities();
    read_requests();
    database_.for_each(
        fmt::format(R"(SELECT uid, entity_id, data FROM "{}{}{}" ORDER BY insert_id)", kPrefix, id_,
                    kResults),
        [&](const std::vector<std::string>& row) { read_result(row[0], row[1], row[2]); });
  }

 private:
  struct Request {
    std::string operation;
    std::string timestamp;
  };

  void read_entities() {
    database_.for_each(
        fmt::format(R"(SELECT identifier, representation FROM "{}{}")", kPrefix, id_),
        [&](const std::vector<std::string>& row) {
          try {
            const Json entity = Json::parse(row[1], "entity");
            AdoEntity read;
            read.generator = text_in(entity, "generatorid");
            read.inputs = property_values(&entity.at("constitutive_property_values"));
            entities_[row[0]] = std::move(read);
          } catch (const Error& error) {
            damaged_[row[0]] = error.message();
          }
        });
  }

  /// The first request that a result answered; later ones are replays of it.
  void read_requests() {
    database_.for_each(
        fmt::format(R"(SELECT links.result_uid, requests.operation_id, requests.timestamp
                       FROM "{0}{1}_measurement_requests_results" links
                       JOIN "{0}{1}_measurement_requests" requests
                       ON requests.uid = links.request_uid ORDER BY requests.insert_id)",
                    kPrefix, id_),
        [&](const std::vector<std::string>& row) {
          requests_.try_emplace(row[0], Request{.operation = row[1], .timestamp = row[2]});
        });
  }

  void read_result(const std::string& uid, const std::string& entity, const std::string& data) {
    const std::string where = fmt::format("result {} of entity {}", excerpt(uid), excerpt(entity));
    if (const auto damaged = damaged_.find(entity); damaged != damaged_.end()) {
      rows_.reject(where, "its entity is damaged: " + damaged->second);
      return;
    }
    try {
      add_ado_result(result_of(uid, where, entity, Json::parse(data, "data")), map_, rows_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Internal) {
        throw;
      }
      rows_.reject(where, error.message());
    }
  }

  AdoResult result_of(const std::string& uid, const std::string& where, const std::string& entity,
                      const Json& data) {
    const auto known = entities_.find(entity);
    if (known == entities_.end()) {
      throw Error(ErrorCode::Corrupt, "there is no such entity");
    }
    AdoResult result;
    result.where = where;
    result.inputs = known->second.inputs;
    const Json& reference = reference_in(data);
    result.experiment.actuator = text_in(reference, "actuatorIdentifier");
    result.experiment.experiment = reference.at("experimentIdentifier").as_string();
    result.experiment.parameters = property_values(reference.find("parameterization"));
    if (const Json* measurements = data.find("measurements"); measurements != nullptr) {
      for (const Json& one : measurements->as_array()) {
        result.figures.emplace_back(
            one.at("property").at("targetProperty").at("identifier").as_string(),
            cell_of(one.at("value")));
      }
    }
    result.reason = text_in(data, "reason");
    if (result.figures.empty() && result.reason.empty()) {
      result.reason = "it holds neither measurements nor a reason";
    }
    set_origin(uid, known->second, result);
    return result;
  }

  void set_origin(const std::string& uid, const AdoEntity& entity, AdoResult& result) const {
    result.environment = Json::object(
        {{"imported_from", "ado sample store " + id_}, {"generator", entity.generator}});
    if (const auto request = requests_.find(uid); request != requests_.end()) {
      result.environment.set("operation", request->second.operation);
      // Local time of a machine that the store does not name: no Z.
      result.started_at = request->second.timestamp.substr(0, request->second.timestamp.find('.'));
      std::ranges::replace(result.started_at, ' ', 'T');
    }
  }

  SqliteReader& database_;
  std::string id_;
  const ColumnMap& map_;
  ForeignRows& rows_;
  std::map<std::string, AdoEntity> entities_;
  std::map<std::string, std::string> damaged_;  ///< entities and what is wrong with them
  std::map<std::string, Request> requests_;     ///< by result
};

bool is_store_id(std::string_view id) {
  return !id.empty() && std::ranges::all_of(id, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-';
  });
}

}  // namespace

ForeignRecords read_ado_store(const std::filesystem::path& file, const ColumnMap& map) {
  SqliteReader database(file);
  std::vector<std::string> ids;
  database.for_each("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
                    [&](const std::vector<std::string>& row) {
                      std::string_view name = row[0];
                      if (!name.starts_with(kPrefix) || !name.ends_with(kResults)) {
                        return;
                      }
                      name.remove_prefix(kPrefix.size());
                      name.remove_suffix(kResults.size());
                      if (is_store_id(name)) {
                        ids.emplace_back(name);
                      }
                    });
  if (ids.empty()) {
    throw Error(ErrorCode::Corrupt,
                display_path(file) + " is a database of another program: it has no sample store");
  }
  ForeignRows rows;
  for (const std::string& id : ids) {
    AdoSampleStore(database, id, map, rows).read();
  }
  return rows.take();
}

}  // namespace tunebench::exchange
