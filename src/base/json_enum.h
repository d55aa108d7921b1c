// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parse_enum.h"

#include <nlohmann/json.hpp>

#include <string>

// For source files: writes an enum with enum_names() as its name. `what` names the enumeration in
// the error for an unknown name.
#define NCCLPROBE_ENUM_CODEC(Type, what)                                                           \
  static void to_json(nlohmann::json& out, Type value) {                                           \
    out = std::string(to_string(value));                                                           \
  }                                                                                                \
  static void from_json(const nlohmann::json& in, Type& value) {                                   \
    value = ncclprobe::base::value_or_throw(                                                       \
        ncclprobe::base::parse_enum<Type>(in.get_ref<const std::string&>(), what));                \
  }
