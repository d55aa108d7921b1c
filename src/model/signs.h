// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// Whether numbers have both signs, in types that have them. none: for what must not be negative,
// such as an optimizer's second moments, of which it takes the root.
enum class Signs { both, none };

constexpr auto enum_names(Signs) {
  using namespace std::string_view_literals;
  return std::array{std::pair{Signs::both, "both"sv}, std::pair{Signs::none, "none"sv}};
}

} // namespace ncclprobe::model
