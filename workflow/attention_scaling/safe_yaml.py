"""The loader of YAML that builds plain data and nothing else, apart from what takes long to import."""

import yaml

# libyaml's where PyYAML was built with it: it reads ten times as fast.
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
