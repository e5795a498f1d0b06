"""The demo's tasks on the configured database: what `holdfast dev` runs when it is given no app."""

from holdfast.config import load
from holdfast.demo.tasks import night

app = night(load().db).app
