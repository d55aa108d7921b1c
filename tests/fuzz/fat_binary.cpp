// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_fit.h"
#include "analysis/binary/device_code.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto code = analysis::read_device_code(text);
  if (!code)
    return 0;
  auto verdicts = analysis::judge_device_code(*code, {{"H200", {9, 0}, {}}, {"T4", {7, 5}, {}}});
  analysis::render_device_code("fuzz", *code, verdicts);
  analysis::device_code_json("fuzz", *code, verdicts)
      .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  return 0;
}
