// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <functional>
#include <memory>
#include <string>

// The contract of all backends (backend/backend.h), as one test suite. A backend's test program
// consists of NCCLPROBE_CONTRACT_SOURCES (CMakeLists.txt), of NCCLPROBE_CONTRACT_DATA_SOURCES and
// NCCLPROBE_CONTRACT_COMPUTE_SOURCES if it moves data, and of one file that defines
// contract_subject(). All ranks live in the test process, one device each, driven by one thread:
// calls of several ranks are always in a group.
namespace ncclprobe::contract {

struct ContractSubject {
  std::string name;
  std::function<std::unique_ptr<backend::Backend>(const backend::Options&)> make;
  int devices = 0;         // ranks that this process can drive
  std::string skip_reason; // not empty: this machine cannot run it
};

// Defined by each backend's test program.
ContractSubject contract_subject();

} // namespace ncclprobe::contract

// First line of a contract test: `subject` with at least `needed` devices, or skip.
#define NCCLPROBE_CONTRACT(subject, needed)                                                        \
  const ::ncclprobe::contract::ContractSubject subject =                                           \
      ::ncclprobe::contract::contract_subject();                                                   \
  if (!subject.skip_reason.empty())                                                                \
    NCCLPROBE_SKIP(subject.skip_reason);                                                           \
  if (subject.devices < (needed))                                                                  \
  NCCLPROBE_SKIP(fmt::format("needs {} devices, there are {}", needed, subject.devices))
