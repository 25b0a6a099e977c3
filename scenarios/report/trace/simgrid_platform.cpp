// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/simgrid_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace orrery {
namespace {

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
    }
    return out;
}

}  // namespace

Result<void> write_simgrid_platform(std::ostream& out, const Fabric& fabric) {
    const std::uint32_t ranks = fabric.num_ranks();
    if (ranks > kSimgridHostsMax) {
        return fail("",
                    fmt::format("{} GPUs have {} routes: too many for a platform file",
                                ranks,
                                std::uint64_t{ranks} * (ranks - 1)),
                    fmt::format("at most {} GPUs", kSimgridHostsMax));
    }
    out << "<?xml version='1.0'?>\n"
           "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\">\n  <zone id=\"fabric\" routing=\"Full\">\n";
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        out << fmt::format("    <host id=\"gpu-{}\" speed=\"1Gf\"/>\n", rank);
    }
    const auto links = fabric.links();
    for (std::uint32_t link = 0; link < links.size(); ++link) {
        // SimGrid accepts no bandwidth of zero, which dead links have.
        const std::int64_t bytes = links[link].capacity.bits_per_second() / 8;
        out << fmt::format("    <link id=\"{}: {}\" bandwidth=\"{}Bps\" latency=\"{}ps\"/>\n",
                           link,
                           escaped(fabric.link_name(LinkId{link})),
                           std::max<std::int64_t>(bytes, 1),
                           fabric.link_latency(LinkId{link}).picoseconds());
    }
    for (std::uint32_t from = 0; from < ranks; ++from) {
        for (std::uint32_t to = 0; to < ranks; ++to) {
            Path path;
            if (from == to || !fabric.route(RankId{from}, RankId{to}, 0, path)) {
                continue;
            }
            out << fmt::format(
                "    <route src=\"gpu-{}\" dst=\"gpu-{}\" symmetrical=\"NO\">", from, to);
            for (const LinkId link : path.links) {
                out << fmt::format(
                    "<link_ctn id=\"{}: {}\"/>", index(link), escaped(fabric.link_name(link)));
            }
            out << "</route>\n";
        }
    }
    out << "  </zone>\n</platform>\n";
    return {};
}

}  // namespace orrery
