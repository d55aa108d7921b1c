// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"
#include "model/survey.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

// JSON of the model: what supervisors and workers exchange, what the run file stores for nested
// values, and what `--format json` builds on. Enumerations are written by name; unknown names throw
// base::Exception (invalid_argument), missing fields nlohmann's exception (those that a type got
// later have their defaults instead): parse_json() below turns both into an Error.
namespace ncclprobe::model {

#define NCCLPROBE_JSON(Type)                                                                       \
  void to_json(nlohmann::json& json, const Type& value);                                           \
  void from_json(const nlohmann::json& json, Type& value);
NCCLPROBE_JSON(Schedule)
NCCLPROBE_JSON(Setting)
NCCLPROBE_JSON(ProcessSettings)
NCCLPROBE_JSON(Timing)
NCCLPROBE_JSON(CellLabel)
NCCLPROBE_JSON(Cell)
NCCLPROBE_JSON(TrialSpec)
NCCLPROBE_JSON(Outcome)
NCCLPROBE_JSON(CheckResult)
NCCLPROBE_JSON(Condition)
NCCLPROBE_JSON(Choice)
NCCLPROBE_JSON(Evidence)
NCCLPROBE_JSON(WorkerRecord)
NCCLPROBE_JSON(Library)
NCCLPROBE_JSON(MemoryUse)
NCCLPROBE_JSON(Gpu)
NCCLPROBE_JSON(Host)
NCCLPROBE_JSON(RankPlace)
NCCLPROBE_JSON(RunHeader)
NCCLPROBE_JSON(Survey)
#undef NCCLPROBE_JSON

// Text -> value for any type above. Errors: protocol, with what is wrong. Instantiated in json.cpp.
template <typename T>
base::Result<T> parse_json(std::string_view text);

// Value -> compact text.
template <typename T>
std::string write_json(const T& value);

} // namespace ncclprobe::model
