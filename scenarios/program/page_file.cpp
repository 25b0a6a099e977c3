// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/page_file.h"

#include <utility>

#include "scenarios/report/provenance_report.h"

namespace orrery {

Result<PageFile> PageFile::open(const std::string& name) {
    PageFile page;
    if (name.empty()) {
        return page;
    }
    auto file = OutputFile::open(name);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    page.file_ = std::move(*file);
    return page;
}

Result<void> PageFile::write(const std::string& html, const Provenance& provenance) {
    file_->stream() << page_with_provenance(html, provenance);
    return file_->commit();
}

}  // namespace orrery
