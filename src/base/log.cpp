// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace ncclprobe::base {

void start_log(const std::string& who, Verbosity verbosity) {
  auto logger = spdlog::stderr_logger_mt(who);
  logger->set_pattern("%n: %^%l%$: %v");
  logger->set_level(verbosity == Verbosity::quiet     ? spdlog::level::err
                    : verbosity == Verbosity::verbose ? spdlog::level::debug
                                                      : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

} // namespace ncclprobe::base
