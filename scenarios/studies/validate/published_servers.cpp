// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/published_servers.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/csv_rows.h"
#include "scenarios/format/document/nearest.h"

namespace orrery {

Result<PublishedServer> server_of_gpu(std::string_view gpu,
                                      const std::filesystem::path& catalogue) {
    const auto servers =
        read_csv((catalogue / "published" / "servers.csv").string(), {"gpu", "node", "fabric"});
    if (!servers) {
        return tl::unexpected(servers.error().front());
    }
    std::vector<std::string> gpus;
    for (const CsvRow& server : *servers) {
        if (server.fields[0] == gpu) {
            return PublishedServer{.node = server.fields[1], .fabric = server.fields[2]};
        }
        gpus.push_back(server.fields[0]);
    }
    return fail({},
                fmt::format("published/servers.csv of the catalogue has no gpu '{}'", gpu),
                nearest_hint(gpu, gpus));
}

}  // namespace orrery
