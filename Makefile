# Short names for the scripts; CMake does the building (CONTRIBUTING.md).
#   make demo | test | fuzz [SECONDS=60] [TARGETS="fuzz_reader …"] | format | tidy
SECONDS ?= 60
TARGETS ?=

.PHONY: demo test fuzz format tidy
demo test format tidy:
	scripts/$@.sh
fuzz:
	scripts/fuzz.sh $(SECONDS) $(TARGETS)
