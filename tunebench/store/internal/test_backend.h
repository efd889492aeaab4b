#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/record/record.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/postgres_connection.h"
#include "tunebench/store/internal/store_testing.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

enum class Backend { Sqlite, Postgres };

/// The server that tools/postgres.sh has started; empty when there is none.
inline std::string postgres_url() {
  const char* url = std::getenv("TB_POSTGRES_URL");
  return url == nullptr ? "" : url;
}

/// Each test once with a file and once with a server, where it has a schema of its own. For tests.
class BackendTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::Sqlite) {
      location_ = (folder_.path() / "new/store.db").string();
    } else if (postgres_url().empty()) {
      GTEST_SKIP() << "TB_POSTGRES_URL names no server";
    } else {
      schema_ = "tb_" + lower_ascii(record::new_record_id());  // unquoted, PostgreSQL lowers it
      location_ = in_schema(schema_);
      // Records that cannot be written.
      setenv("XDG_DATA_HOME", folder_.path().c_str(), 1);
    }
    store_ = open_store(location_, OpenMode::Create);
  }
  void TearDown() override {
    store_.reset();
    if (!schema_.empty()) {
      unsetenv("XDG_DATA_HOME");
      PostgresConnection server(location_, std::chrono::seconds(5));
      for (const char* ending : {"", "_other"}) {
        server.script("DROP SCHEMA IF EXISTS \"" + schema_ + ending + "\" CASCADE");
      }
    }
  }

  /// As given to open_store.
  [[nodiscard]] const std::string& location() const { return location_; }
  /// One that nobody has made yet.
  [[nodiscard]] std::string other_location() const {
    return schema_.empty() ? (folder_.path() / "new/other.db").string()
                           : in_schema(schema_ + "_other");
  }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

  [[nodiscard]] std::unique_ptr<Connection> connection() const {
    return open_connection(location_, OpenMode::Existing, std::chrono::seconds(5));
  }
  /// As an outside program, another host or another time would change the store.
  void execute(const std::string& sql) const { connection()->script(sql); }
  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    return connection()->query_integer(sql);
  }
  /// Seconds since 1970, by the store's clock, as SQL.
  [[nodiscard]] std::string in_seconds(std::int64_t seconds) const {
    return std::to_string(connection()->now() + seconds);
  }

  std::unique_ptr<Store> store_;

 private:
  static std::string in_schema(const std::string& schema) {
    return postgres_url() + "&options=-csearch_path%3D" + schema;
  }

  TemporaryFolder folder_;
  std::string location_;
  std::string schema_;
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::Sqlite ? "sqlite" : "postgres";
}

}  // namespace tunebench::store

/// Runs the tests of a class derived from BackendTest on both.
#define TB_ON_BOTH_BACKENDS(Fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Store, Fixture,                                                                              \
      testing::Values(::tunebench::store::Backend::Sqlite, ::tunebench::store::Backend::Postgres), \
      ::tunebench::store::backend_name)
