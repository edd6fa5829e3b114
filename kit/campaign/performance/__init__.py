"""Performance of a run on a GPU: every engine measured against the others in one process, on one copy of the weights.

Covers, a module each: what is measured (`workloads`), how (`timing`, `rounds`, `budget`), against
what (`floors`, `cublaslt`, `cublaslt_search`), over HTTP (`local_http`), where the time goes (`breakdown`), another
adapter in place (`adapter_swap`), the order of it all (`plan`, `session`), and what is written down (`document`,
`targets`, `record`, `plots`).
Does not cover: latencies of the campaign's own requests (`kit.campaign.bench`), which every profile has.
"""
