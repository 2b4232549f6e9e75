// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/arrow_columns.h"

#include "support/catch.h"

namespace arrow_columns_test {

using namespace tenon;
using detail::arrow_type_name;
using detail::ArrowColumns;
using detail::ArrowHold;

namespace {

ArrowSchema schema_of(const char* format, const char* name = "") {
  ArrowSchema made{};
  made.format = format;
  made.name = name;
  made.release = [](ArrowSchema* self) { self->release = nullptr; };
  return made;
}

}  // namespace

TEST_CASE("arrow columns: types have the names that pyarrow prints") {
  const struct {
    const char* format;
    const char* name;
  } rows[] = {{"C", "uint8"},
              {"e", "halffloat"},
              {"g", "double"},
              {"b", "bool"},
              {"tdD", "date32[day]"},
              {"ttn", "time64[ns]"},
              {"tss:", "timestamp[s]"},
              {"tsn:Europe/Berlin", "timestamp[ns, tz=Europe/Berlin]"},
              {"tDm", "duration[ms]"},
              {"vu", "string_view"},
              {"w:16", "fixed_size_binary[16]"},
              {"d:10,2", "decimal[10,2]"},
              {"+l", "list"},
              {"+vL", "large_list_view"},
              {"+w:3", "fixed_size_list[3]"},  // without a child
              {"+ud:0,1", "dense_union[0,1]"},
              {"tsx:", "tsx:"},
              {"?", "?"},
              {"", ""}};
  for (const auto& row : rows) CHECK(arrow_type_name(schema_of(row.format)) == row.name);
  CHECK(arrow_type_name(ArrowSchema{}).empty());
  ArrowSchema words = schema_of("u");
  ArrowSchema coded = schema_of("i");
  coded.dictionary = &words;
  CHECK(arrow_type_name(coded) == "dictionary");
  ArrowSchema item = schema_of("tsu:UTC");
  ArrowSchema* const items[] = {&item};
  ArrowSchema list = schema_of("+w:3");
  list.n_children = 1;
  list.children = const_cast<ArrowSchema**>(items);
  CHECK(arrow_type_name(list) == "fixed_size_list<timestamp[us, tz=UTC]>[3]");
  items[0]->format = "+w:2";  // its own child, without an end
  item.n_children = 1;
  item.children = const_cast<ArrowSchema**>(items);
  CHECK(arrow_type_name(list).size() < 3000);
}

}  // namespace arrow_columns_test
