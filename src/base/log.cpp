// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include "base/console.h"

#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>

namespace ncclprobe::base {
namespace {

class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // A full or closed stderr is not a reason to fail.
    (void)print(StandardStream::err, hanging({line.data(), line.size()}));
  }
  void flush_() override {}
};

} // namespace

void start_log(const std::string& who, Verbosity verbosity) {
  auto logger = std::make_shared<spdlog::logger>(who, std::make_shared<ConsoleSink>());
  logger->set_pattern("%n: %l: %v");
  logger->set_level(verbosity == Verbosity::quiet     ? spdlog::level::err
                    : verbosity == Verbosity::verbose ? spdlog::level::debug
                                                      : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

} // namespace ncclprobe::base
