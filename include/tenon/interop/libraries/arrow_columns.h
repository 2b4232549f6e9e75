// SPDX-License-Identifier: MIT
// ArrowColumns: describes the columns of Arrow's record batches by their schema, and plans a tensor
// for each column.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tenon/interop/libraries/arrow_import.h"

TENON_BEGIN_NAMESPACE

/// Describes a column of a schema.
/// Threads: as a plain value.
struct ArrowColumnInfo {
  std::string name;        ///< a struct's field is "point.x"
  std::string arrow_type;  ///< as pyarrow says it: "int32", "timestamp[ns, tz=UTC]", "string"; of
                           ///< an extension type its name
  ScalarType type = ScalarType::Undefined;  ///< Undefined where get() refuses the type
  std::vector<int64_t> row_sizes;           ///< the sizes of one row; {} if a row is a number
};

namespace detail {

/// A type's name as pyarrow prints it, but without the item types of lists of varying sizes and of
/// similar types.
inline std::string arrow_type_name(const ArrowSchema& first) {
  std::string begin;
  std::string end;
  const ArrowSchema* schema = &first;
  for (size_t depth = 0;; ++depth) {
    bool found = false;
    std::string_view name;
    if (find_arrow_metadata(schema->metadata, kArrowExtensionName, found, name) == Error::Ok &&
        found) {
      return begin + std::string(name) + end;
    }
    const std::string_view format = schema->format == nullptr ? "" : schema->format;
    if (schema->dictionary != nullptr) return begin + "dictionary" + end;
    const ArrowFormatRow* const row = find_arrow_format(format);
    if (row == nullptr) return begin + std::string(format) + end;
    const std::string_view known = row->format;
    if (known.back() != ':') return begin + row->type_name + end;
    const std::string more(format.substr(known.size()));
    if (known.substr(0, 2) == "ts") {
      return begin + row->type_name + (more.empty() ? "" : ", tz=") + more + "]" + end;
    }
    if (known != "+w:" || depth == kMaxDims || check_arrow_child(*schema, 0) != Error::Ok) {
      return begin + row->type_name + "[" + more + "]" + end;
    }
    begin += "fixed_size_list<";
    end.insert(0, ">[" + more + "]");
    schema = schema->children[0];
  }
}

/// The columns of a schema; this object keeps the schema. A struct's fields are columns, not the
/// struct.
class ArrowColumns {
 public:
  ArrowColumns(ArrowHold<ArrowSchema>&& schema, ArrowPermutation meaning) noexcept
      : schema_(std::move(schema)), meaning_(meaning) {}

  /// Reads the schema. Called once.
  /// Errors: NotSupported (not the schema of a record batch); InvalidArgument, InvalidState (a
  /// malformed schema).
  Error read() {
    const ArrowSchema& root = schema_.value;
    if (root.format == nullptr || std::strcmp(root.format, "+s") != 0) {
      return fail(Error::NotSupported, "the schema is not that of a record batch, but of ",
                  arrow_type_name(root).c_str(), "; from_arrow() takes a single array");
    }
    for (int64_t i = 0; i < root.n_children; ++i) {
      TENON_TRY(check_arrow_child(root, i));
      const ArrowSchema& child = *root.children[i];
      const std::string name = child.name == nullptr ? "" : child.name;
      const bool is_struct = child.format != nullptr && std::strcmp(child.format, "+s") == 0;
      if (!is_struct) TENON_TRY(add(child, name, {i, -1}));
      for (int64_t k = 0; is_struct && k < child.n_children; ++k) {
        TENON_TRY(check_arrow_child(child, k));
        const ArrowSchema& field = *child.children[k];
        TENON_TRY(add(field, name + "." + (field.name == nullptr ? "" : field.name), {i, k}));
      }
    }
    return Error::Ok;
  }

  const std::vector<ArrowColumnInfo>& infos() const noexcept { return infos_; }

  /// Checks that a batch fits the schema; its columns are not checked.
  Error check_batch(const ArrowArray& batch) const noexcept {
    return check_arrow_array(batch, batch.offset, batch.length, 1, schema_.value.n_children);
  }

  /// Plans a tensor over column i of a batch.
  Error plan(size_t i, const ArrowArray& batch, ArrowPlan& made) const noexcept {
    const ArrowSchema* schema = &schema_.value;
    const ArrowArray* array = &batch;
    int64_t begin = batch.offset;
    for (const int64_t child : places_[i].path) {
      if (child < 0) break;
      TENON_TRY(check_arrow_array(*array, begin, batch.length, 1, schema->n_children));
      TENON_TRY(check_arrow_child(*array, child));
      schema = schema->children[child];
      array = array->children[child];
      if (!detail::add(begin, array->offset, begin)) {
        return fail(Error::InvalidArgument, "offset ", array->offset,
                    " overflows the address space");
      }
    }
    TENON_TRY(plan_arrow_rows(*schema, meaning_, made));
    return plan_arrow_values(*schema, *array, begin, batch.length, made);
  }

 private:
  /// Where a column is: the index of a child of the batch, and of a field of that child or -1.
  struct Place {
    int64_t path[2];
  };

  Error add(const ArrowSchema& schema, std::string name, const Place& place) {
    ArrowColumnInfo info;
    info.name = std::move(name);
    info.arrow_type = arrow_type_name(schema);
    ArrowPlan plan;
    const Error error = plan_arrow_rows(schema, meaning_, plan);
    if (error == Error::Ok) {
      info.type = public_type(plan.type);
      for (size_t d = 1; d < plan.order.size(); ++d) {
        info.row_sizes.push_back(plan.sizes[static_cast<size_t>(plan.order[d])]);
      }
    } else if (error != Error::NotSupported) {
      return fail(error, "column ", infos_.size(), " of the schema: ", last_error_message());
    }
    infos_.push_back(std::move(info));
    places_.push_back(place);
    return Error::Ok;
  }

  ArrowHold<ArrowSchema> schema_;
  ArrowPermutation meaning_;
  std::vector<ArrowColumnInfo> infos_;
  std::vector<Place> places_;
};

}  // namespace detail
TENON_END_NAMESPACE
