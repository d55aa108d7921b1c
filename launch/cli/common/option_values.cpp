// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/option_values.h"

#include "base/number_list.h"
#include "base/units.h"
#include "workload/plan.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::cli {

Result<void> check_library_name(const std::string& name) {
  constexpr std::array k_names{"nccl", "nvml", "cupti", "cublaslt", model::k_worker_program};
  if (std::find(k_names.begin(), k_names.end(), name) != k_names.end())
    return {};
  return fail(base::Error{
      Errc::invalid_argument, fmt::format("'{}' is not a library that is loaded by name", name),
      "known: nccl, nvml, cupti, cublaslt, and worker for ncclprobe-worker itself"});
}

Result<double> parse_share(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double share = rest == "%" ? value / 100 : value;
  if (error != std::errc{} || !(rest.empty() || rest == "%") || !(share > 0 && share < 1))
    return fail(Errc::invalid_argument, "'{}' is not a share such as 1% or 0.01", text);
  return share;
}

Result<std::int64_t> parse_time_ns(const std::string& text) {
  const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos;
  if (auto time_ns = base::parse_duration_ns(is_number ? text + "ms" : text);
      time_ns && *time_ns > 0)
    return *time_ns;
  return fail(base::Error{Errc::invalid_argument,
                          fmt::format("'{}' is not a time above zero", text),
                          "write 10.2ms, 310us or 1.5s; a number alone means milliseconds"});
}

Result<model::Setting> parse_setting(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || !workload::is_variable_name(text.substr(0, equals)))
    return fail(Errc::invalid_argument, "'{}' is not NAME=VALUE", text);
  return model::Setting{text.substr(0, equals), text.substr(equals + 1)};
}

std::string setting_text(const model::Setting& setting) {
  return setting.name + "=" + setting.value;
}

Result<void> add_price(const std::string& text, std::map<std::string, double>& prices) {
  const std::size_t equals = text.rfind('=');
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  double value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() ||
      !(value > 0 && value < 1e12) || equals == 0)
    return fail(base::Error{Errc::invalid_argument, fmt::format("'{}' is not a price", text),
                            "such as T4=800, or 800 for any GPU"});
  prices[equals == std::string::npos ? "" : text.substr(0, equals)] = value;
  return {};
}

Result<void> add_rank_setting(const std::string& text,
                              std::map<int, std::vector<model::Setting>>& per_rank) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto ranks = base::parse_number_range(text.substr(0, colon));
  const auto setting = parse_setting(text.substr(std::min(colon + 1, text.size())));
  if (!ranks || ranks->second > 1'000'000 || !setting)
    return fail(base::Error{Errc::invalid_argument,
                            fmt::format("'{}' is not RANKS:NAME=VALUE", text),
                            "for example 0-3:NCCL_HOSTID=a or 5:NCCL_ALGO=Tree"});
  for (int rank = ranks->first; rank <= ranks->second; ++rank)
    per_rank[rank].push_back(*setting);
  return {};
}

} // namespace ncclprobe::cli
