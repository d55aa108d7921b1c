// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/supervisor_message.h"

#include "model/document.h"
#include "wire/packing.h"

namespace ncclprobe::launch {

std::string encode(const SupervisorMessage& message) {
  return wire::pack(message);
}

Result<SupervisorMessage> decode_supervisor_message(std::string_view bytes) {
  try {
    return wire::unpack<SupervisorMessage>(bytes);
  } catch (const Exception& error) {
    return fail(Errc::protocol, "a supervisor's message does not parse: {}", error.what());
  }
}

} // namespace ncclprobe::launch
