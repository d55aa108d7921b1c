// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tree_mail.h"

#include "wire/packing.h"

namespace ncclprobe::launch {

std::string encode_mail(const DownBundle& bundle) {
  return static_cast<char>(MailKind::down) + wire::pack(bundle);
}

std::string encode_mail(const Bundle& bundle) {
  return static_cast<char>(MailKind::up) + wire::pack(bundle);
}

} // namespace ncclprobe::launch
