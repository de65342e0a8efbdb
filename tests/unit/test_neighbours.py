"""Near neighbours stand beside each other, unmarked; a true change takes the older line's place. With real cosines."""

import pytest
from test_comparing import told

from extractor import Decision

NEIGHBOURS = [
    # another person
    ("my niece is afraid of the dark", "my nephew has stopped being afraid of spiders"),
    ("Ola paints the fence on Saturday", "Rui has stopped painting altogether"),
    ("our plumber charges forty an hour", "the electrician has raised his prices"),
    ("我表弟在酒店当厨师", "我堂姐不当导游了"),
    ("阿强负责采购", "阿珍不管仓库了"),
    # another thing
    ("the hoover is under the stairs", "we moved the ironing board to the loft"),
    ("The blue tent sleeps four", "we sold the awning"),
    ("I bake rye bread on Fridays", "I gave up on the sourdough starter"),
    ("书架是白橡木的", "鞋柜换成黑色的了"),
    ("洗碗机是去年装的", "烘干机坏了，退了"),
    # another day
    ("every Monday the shop is closed, plan nothing for me then", "the Wednesday delivery has moved to Thursday"),
    ("recycling goes out on Tuesday night", "the Friday film club is cancelled"),
    ("每周一店里休息，别给我排事情", "周四的例会改到周五了"),
    ("周六上午带孩子上围棋课", "周日的聚餐取消了"),
    # another room
    ("the study faces the railway", "we repainted the nursery"),
    ("The attic has new windows", "the cellar has been cleared out"),
    ("主卧朝南", "客房改成书房了"),
    ("厨房装了净水器", "卫生间的热水器换新的了"),
    # another dose, or remedy
    ("I take one iron tablet after breakfast", "the doctor stopped my eye drops"),
    ("half a pill of the thyroid stuff at seven", "no more cough syrup since Sunday"),
    ("早饭后吃一片钙片", "睡前的安眠药停了"),
    ("每天滴两次眼药水", "鼻喷剂不用喷了"),
    # another pet
    ("the tortoise hibernates in the shed", "we rehomed the budgie"),
    ("Our old greyhound sleeps by the stove", "the hamster has moved to my cousin's"),
    ("乌龟养在阳台", "鹦鹉送人了"),
    ("我家的猫爱抓沙发", "仓鼠换了个新笼子"),
    # an exception
    ("I don't eat anything fried", "my birthday was an exception, crisps and all"),
    ("我晚上不接工作电话", "昨晚那个客户除外，接了一次"),
    # a reason
    ("I cycle to the library", "it has become so hard to find a place to park there"),
    ("我们家不看电视", "孩子以前一看就停不下来"),
    # a cheer, thanks, a mood
    ("come on the lads", "I've stopped going to the match with my uncle"),
    ("no coconut please, it makes my throat swell up", "come on you reds, we switched to a back three and won"),
    ("加油啊兄弟们", "我换了双新球鞋"),
    ("I get migraines from strip lighting", "we changed the bulbs on the Christmas tree"),
    # an allergy or a wish, and no word of it
    ("我对猕猴桃过敏", "原来打算春节去哈尔滨看冰雕的，不去了"),
    ("我不打算去考驾照", "原来打算国庆去爬山的，不去了"),
    ("never call me before nine, I work nights", "I've stopped buying cut flowers"),
    ("回答我的时候别用表情符号", "我把闹铃换成鸟叫了"),
    ("metric units only", "we replaced the old scales in the bathroom"),
    ("我吃不了芒果", "我戒了夜宵"),
]
CHANGES = [
    ("I play the oboe in the town band", "I gave up the oboe"),
    ("my locksmith course ends in March", "the locksmith course is cancelled"),
    ("We rent an allotment behind the station", "we no longer have the allotment"),
    ("I use a fountain pen for everything", "I've stopped using the fountain pen"),
    ("The book club meets on Mondays", "The book club has moved to Thursdays"),
    ("The parish newsletter deadline is May 5", "The parish newsletter deadline is May 9"),
    ("我在学琵琶", "琵琶不学了"),
    ("清明去黄山", "黄山不去了"),
    ("我每天吃一粒鱼油", "鱼油停了"),
    ("我们店养了一缸金鱼", "金鱼送人了"),
    ("社区合唱团我是领唱", "合唱团我退了"),
    ("读书会定在周三晚上", "读书会改到周五晚上了"),
]


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_near_neighbours_both_stand_unmarked(before: str, after: str) -> None:
    assert told(after, before) == Decision(action="add", target=None, reason="new")


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_true_change_takes_the_place_of_the_older_line(before: str, after: str) -> None:
    assert told(after, before).action == "supersede"
