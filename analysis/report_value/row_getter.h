// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/value.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

// How a column takes its value from a row. Reports have more than a thousand columns, and a
// std::function compiles about eight functions for each of them. This compiles two.
namespace ncclprobe::analysis {

class RowGetter {
public:
  Value operator()(const void* row) const;

protected:
  using Read = Value (*)(const void* row, const void* get);
  static constexpr std::size_t k_inline_bytes = 32;
  // Almost all: nothing, a pointer to a member, or a lambda that captured a few numbers.
  template <typename Get>
  static constexpr bool k_is_inline = std::is_trivially_copyable_v<Get> &&
                                      sizeof(Get) <= k_inline_bytes;

  Read read_ = nullptr;
  std::shared_ptr<const void> kept_; // null: it is in `bytes_`
  alignas(std::max_align_t) std::array<std::byte, k_inline_bytes> bytes_ = {};
};

// Made from a pointer to a member of the row, or from a function that takes the row.
template <typename Row>
class GetterOf : public RowGetter {
public:
  template <typename Get>
  requires(!std::is_base_of_v<RowGetter, Get>)
      GetterOf(Get get) { // NOLINT(google-explicit-constructor): lambdas are written as arguments
    read_ = read<Get>;
    if constexpr (k_is_inline<Get>)
      new (bytes_.data()) Get(get);
    else
      kept_ = std::shared_ptr<const Get>(new Get(std::move(get)));
  }

private:
  template <typename Get>
  static Value read(const void* row, const void* held) {
    const Get& get = *static_cast<const Get*>(held);
    if constexpr (std::is_member_pointer_v<Get>)
      return std::invoke(get, *static_cast<const Row*>(row));
    else
      return get(*static_cast<const Row*>(row));
  }
};

} // namespace ncclprobe::analysis
