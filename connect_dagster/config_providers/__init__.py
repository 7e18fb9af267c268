"""Config providers that come with a worker: values from files, folders and the environment."""
