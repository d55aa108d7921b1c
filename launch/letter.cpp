// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/letter.h"

#include "model/document.h"
#include "wire/packing.h"

namespace ncclprobe::launch {

std::string encode(const Letter& letter) {
  return wire::pack(letter);
}

base::Result<Letter> decode_letter(std::string_view bytes) {
  try {
    return wire::unpack<Letter>(bytes);
  } catch (const base::Exception& error) {
    return base::fail(base::Errc::protocol, "a supervisor's letter does not parse: {}",
                      error.what());
  }
}

} // namespace ncclprobe::launch
