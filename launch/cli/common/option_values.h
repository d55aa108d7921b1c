// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/option_words.h"
#include "model/trial.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// Readers of values on the command line and in plan files.
namespace ncclprobe::cli {

// "0-3:NCCL_HOSTID=a" -> the setting for ranks 0 to 3. Errors: invalid_argument.
base::Result<void> add_rank_setting(const std::string& text,
                                    std::map<int, std::vector<model::Setting>>& per_rank);

// Errors: invalid_argument unless it is one of the libraries that a worker loads by name.
base::Result<void> check_library_name(const std::string& name);

// "0.5%" or "0.005" -> 0.005. Errors: invalid_argument unless it lies between 0 and 1.
base::Result<double> parse_share(const std::string& text);

// "10.2ms", "310us", "1.5s" -> nanoseconds; a number alone means milliseconds. Errors:
// invalid_argument unless it is above zero.
base::Result<std::int64_t> parse_time_ns(const std::string& text);

// "NAME=value". Errors: invalid_argument.
base::Result<model::Setting> parse_setting(const std::string& text);
std::string setting_text(const model::Setting& setting);

// "T4=800", or "800" for any GPU, into prices by name ("" for any). Errors: invalid_argument.
base::Result<void> add_price(const std::string& text, std::map<std::string, double>& prices);

} // namespace ncclprobe::cli
