#include "tunebench/parquet/internal/arrow_module.h"

#include <exception>
#include <memory>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>

namespace tunebench::parquet {
namespace {

template <typename Builder, typename ValueAt>
arrow::Result<std::shared_ptr<arrow::Array>> array_of(const PlainColumn& column,
                                                      const ValueAt& value_at) {
  Builder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<std::int64_t>(column.present.size())));
  for (std::size_t i = 0; i < column.present.size(); ++i) {
    ARROW_RETURN_NOT_OK(column.present[i] == 0 ? builder.AppendNull()
                                               : builder.Append(value_at(i)));
  }
  return builder.Finish();
}

arrow::Result<std::shared_ptr<arrow::Array>> array_of(const PlainColumn& column) {
  switch (column.type) {
    case PlainColumn::Type::Integer:
      return array_of<arrow::Int64Builder>(column,
                                           [&](std::size_t i) { return column.integers[i]; });
    case PlainColumn::Type::Boolean:
      return array_of<arrow::BooleanBuilder>(
          column, [&](std::size_t i) { return column.integers[i] != 0; });
    case PlainColumn::Type::Real:
      return array_of<arrow::DoubleBuilder>(column, [&](std::size_t i) { return column.reals[i]; });
    case PlainColumn::Type::Text:
      break;
  }
  return array_of<arrow::StringBuilder>(
      column, [&](std::size_t i) -> const std::string& { return column.texts[i]; });
}

arrow::Result<std::string> written(const PlainTable& table) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const PlainColumn& column : table.columns) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> array, array_of(column));
    fields.push_back(arrow::field(column.name, array->type()));
    arrays.push_back(std::move(array));
  }
  const std::shared_ptr<arrow::Table> arrow_table = arrow::Table::Make(
      arrow::schema(std::move(fields)), arrays, static_cast<std::int64_t>(table.rows));
  ARROW_ASSIGN_OR_RAISE(auto out, arrow::io::BufferOutputStream::Create());
  const auto properties =
      ::parquet::WriterProperties::Builder().compression(::parquet::Compression::SNAPPY)->build();
  ARROW_RETURN_NOT_OK(::parquet::arrow::WriteTable(*arrow_table, arrow::default_memory_pool(), out,
                                                   ::parquet::DEFAULT_MAX_ROW_GROUP_LENGTH,
                                                   properties));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> buffer, out->Finish());
  return buffer->ToString();
}

}  // namespace
}  // namespace tunebench::parquet

int tunebench::parquet::tunebench_parquet_version() {
  return kModuleVersion;
}

bool tunebench::parquet::tunebench_parquet_write(const PlainTable* table, std::string* bytes,
                                                 std::string* reason) {
  try {
    arrow::Result<std::string> result = written(*table);
    if (result.ok()) {
      *bytes = std::move(result).ValueOrDie();
      return true;
    }
    *reason = result.status().ToString();
  } catch (const std::exception& error) {
    *reason = error.what();
  }
  return false;
}
