// SPDX-License-Identifier: Apache-2.0
// dsctl doctor: what this host lacks to work with DS.
#include "doctor.hpp"
#include "kernel.hpp"

namespace dsctl {

namespace {

const char *status_name(Health health) {
    switch (health) {
    case Health::ok:
        return "ok";
    case Health::warning:
        return "warning";
    case Health::failed:
        return "failed";
    default:
        return "skipped";
    }
}

Style style_of(Health health) {
    switch (health) {
    case Health::ok:
        return Style::good;
    case Health::warning:
        return Style::warning;
    case Health::failed:
        return Style::bad;
    default:
        return Style::dim;
    }
}

Exit run(Call &call) {
    std::vector<Finding> findings;
    std::vector<Row> rows;
    unsigned failed = 0, warnings = 0;

    check_module(findings);
    check_links(findings);
    check_limits(findings);
    check_configuration(findings);
    check_log(findings);
    for (const Finding &finding : findings) {
        failed += finding.health == Health::failed;
        warnings += finding.health == Health::warning;
        call.out.respond({{"check", finding.check},
                          {"status", status_name(finding.health)},
                          {"detail", finding.detail},
                          {"remedy", finding.remedy}});
        rows.push_back({{status_name(finding.health), style_of(finding.health)},
                        finding.check,
                        finding.detail});
    }
    call.out.table({{"STATUS"}, {"CHECK"}, {"FOUND", false, true}}, rows);
    for (const Finding &finding : findings)
        if (!finding.remedy.empty())
            call.out.line("\n" + finding.check + ": " + finding.detail +
                          "\n  fix: " + finding.remedy);
    if (failed)
        throw Error(
            Exit::unhealthy, "DS-DOC-001",
            std::to_string(failed) + " of " + std::to_string(findings.size()) + " checks failed",
            "do what is said above behind 'fix:', from the top");
    call.out.line("\n" + std::to_string(findings.size()) + " checks, none failed, " +
                  std::to_string(warnings) + " warning(s)");
    return Exit::ok;
}

const Object object{
    .name = "doctor",
    .summary = "find out what this host lacks to work with DS",
    .verbs = {{
        .name = "run",
        .summary = "Check the module, the RDMA links, limits, configuration and the kernel's log.",
        .params = {},
        .examples =
            {
                {"doctor", "check this host"},
                {"doctor -j", "the same for a program; status 9 if a check failed"},
            },
        .run = run,
        .details = "Changes nothing. A warning is something that works but could be better.",
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
