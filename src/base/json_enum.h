// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parse_enum.h"

#include <nlohmann/json.hpp>

#include <string>

// In a source file: an enum with enum_names() is written by its name. `what` is what a name that
// is not known is said not to be.
#define NCCLPROBE_ENUM_CODEC(Type, what)                                                           \
  static void to_json(nlohmann::json& out, Type value) {                                           \
    out = std::string(to_string(value));                                                           \
  }                                                                                                \
  static void from_json(const nlohmann::json& in, Type& value) {                                   \
    value = ncclprobe::base::value_or_throw(                                                       \
        ncclprobe::base::parse_enum<Type>(in.get_ref<const std::string&>(), what));                \
  }
