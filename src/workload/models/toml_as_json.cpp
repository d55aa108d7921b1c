// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/toml_as_json.h"

#include "base/document_limits.h"

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include <sstream>

namespace ncclprobe::workload {

Result<nlohmann::json> toml_as_json(const std::string& text, const std::string& file) {
  NCCLPROBE_TRY(base::check_toml_limits(text, file));
  try {
    std::ostringstream out;
    out << toml::json_formatter{toml::parse(text, file)};
    return nlohmann::json::parse(out.str());
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", file, error.source().begin.line,
                error.description());
  } catch (const nlohmann::json::exception&) {
    // JSON cannot represent infinity.
    return fail(Errc::invalid_argument, "{}: a number in it is not finite", file);
  }
}

} // namespace ncclprobe::workload
